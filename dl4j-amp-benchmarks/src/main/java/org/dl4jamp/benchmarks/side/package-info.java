/**
 * The process of one side: it trains or infers for a while, reads the clock, and writes its figures. It depends on no
 * framework.
 */
package org.dl4jamp.benchmarks.side;
