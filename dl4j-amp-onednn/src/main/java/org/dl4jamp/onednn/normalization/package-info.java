/**
 * How batch normalization, local response normalization and the rows of layer normalization are computed. Activations
 * of either type come in, FP32 parameters and running statistics too; activations, gradients, and what is to be
 * subtracted from the running statistics, in FP32, go out. Begin reading with
 * {@link org.dl4jamp.onednn.normalization.BatchNormTwin}.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.onednn.normalization;
