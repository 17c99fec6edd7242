/**
 * How maxima, averages and sums of windows, or of everything, are taken. Activations in channels-last order come in;
 * coarser ones, and of the backward pass gradients of the finer ones, go out. Begin reading with
 * {@link org.dl4jamp.onednn.pooling.PoolingTwin}.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.onednn.pooling;
