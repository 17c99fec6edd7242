/**
 * Activation functions and their derivatives: oneDNN's if they equal DL4J's, else ND4J's in FP32, rounded once. FP32
 * sums, or a layer's input, come in; values, and gradients of the sums, go out. Begin reading with
 * {@link org.dl4jamp.onednn.activation.ActivationFunction} for layers,
 * {@link org.dl4jamp.onednn.activation.CellFunction} for time steps.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.onednn.activation;
