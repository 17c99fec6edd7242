/**
 * Weights as oneDNN's primitives read them: copies in the order and type that a primitive prefers, which are made anew
 * when the FP32 master weights change. Begin with {@link org.dl4jamp.onednn.weights.WeightCopies}.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.onednn.weights;
