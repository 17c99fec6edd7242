/**
 * What happens in the process of one side: it trains or infers for a while, watches the clock, and writes down what it
 * saw. Knows no framework.
 */
package org.dl4jamp.benchmarks.side;
