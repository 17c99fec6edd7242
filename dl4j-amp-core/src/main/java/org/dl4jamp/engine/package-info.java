/**
 * Compute engines: the {@link org.dl4jamp.engine.ComputeEngine} interface, the choice of an engine, and in
 * {@code engine.nd4j} the portable engine that runs wherever ND4J runs.
 *
 * <p>{@code Engines}, which makes the choice, is internal: it's public only for other packages of this project, and may
 * change with any version.
 */
package org.dl4jamp.engine;
