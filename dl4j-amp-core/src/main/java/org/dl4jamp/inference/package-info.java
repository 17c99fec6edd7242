/**
 * What a network in inference mode has beside the wrappers of {@link org.dl4jamp.layer}: weights that are taken over once, the watch that notices when the parameters have changed since then,
 * and the guard that refuses training. Begin with {@link org.dl4jamp.inference.WatchedWeights}.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.inference;
