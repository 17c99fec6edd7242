/** The sides, and how the benchmark runs their processes and gives them turns. */
package org.dl4jamp.benchmarks.process;
