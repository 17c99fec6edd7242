/**
 * What computes: the {@link org.dl4jamp.engine.ComputeEngine} interface, the choice of an engine, and in {@code engine.nd4j} the portable
 * engine that runs wherever ND4J runs.
 */
package org.dl4jamp.engine;
