/**
 * Inference mode, beside the wrappers of {@link org.dl4jamp.layer}:
 *
 * <ul>
 *   <li>weights that are converted once,
 *   <li>the watch that notices another set of parameters,
 *   <li>groups of layers that are computed together in the passes where that's right.
 * </ul>
 *
 * <p>Begin with {@link org.dl4jamp.inference.WatchedWeights}.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.inference;
