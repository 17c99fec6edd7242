/**
 * Batch normalization, local response normalization and the rows of layer normalization. Activations of either type,
 * FP32 parameters and FP32 running statistics come in. Activations, gradients and the FP32 updates of the running
 * statistics go out. Begin reading with {@link org.dl4jamp.onednn.normalization.BatchNormTwin}.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.onednn.normalization;
