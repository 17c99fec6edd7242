/**
 * How dense layers and convolutions of every kind multiply by weights. Activations in channels-last order and FP32
 * master weights come in; activations of the same type and order, and FP32 gradients of the parameters in the network's
 * own order, go out. Begin reading with {@link org.dl4jamp.onednn.linear.DenseTwin}, then
 * {@link org.dl4jamp.onednn.linear.ProductKernels}; what sets one kind of convolution apart from another is a
 * {@link org.dl4jamp.onednn.linear.ConvolutionForm}.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.onednn.linear;
