/**
 * How activation functions, and their derivatives, are computed: by oneDNN if it has DL4J's values and derivatives,
 * else by ND4J in FP32, and rounded once. FP32 sums, or a layer's input, come in; values, and gradients of the sums, go
 * out. Begin reading with {@link org.dl4jamp.onednn.activation.ActivationFunction} for layers,
 * {@link org.dl4jamp.onednn.activation.CellFunction} for time steps.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.onednn.activation;
