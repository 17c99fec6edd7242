/**
 * What a network in inference mode has beside the wrappers of {@link org.dl4jamp.layer}: weights that are taken over
 * once, the watch that notices another set of parameters, groups of layers that are computed together in the passes
 * where that's right, and the guard that refuses training. Begin with {@link org.dl4jamp.inference.WatchedWeights}.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.inference;
