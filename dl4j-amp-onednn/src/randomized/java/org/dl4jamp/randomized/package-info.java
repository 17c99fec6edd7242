/**
 * A randomized differential test: random networks and random sequences of calls, in FP32 on each engine, against stock
 * DL4J.
 *
 * <p>{@link org.dl4jamp.randomized.RandomizedTest} is the test. {@link org.dl4jamp.randomized.ScenarioGenerator}
 * generates a {@link org.dl4jamp.randomized.Scenario}, {@link org.dl4jamp.randomized.NetworkAssembly} makes a network
 * of it, a {@link org.dl4jamp.randomized.Player} makes its calls, and {@link org.dl4jamp.randomized.DifferentialCheck}
 * compares what two players observed.
 */
package org.dl4jamp.randomized;
