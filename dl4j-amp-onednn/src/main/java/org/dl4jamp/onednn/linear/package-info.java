/**
 * Dense layers and convolutions of every kind. Activations in channels-last order and FP32 master weights come in.
 * Activations of the same type and order, and FP32 gradients of the parameters, go out. Begin reading with
 * {@link org.dl4jamp.onednn.linear.ProductTwin}, then {@link org.dl4jamp.onednn.linear.ProductKernels}; each kind of
 * convolution has a {@link org.dl4jamp.onednn.linear.ConvolutionForm}.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.onednn.linear;
