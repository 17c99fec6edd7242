/**
 * Pooling: maxima, averages and sums of windows, or of everything. Activations in channels-last order come in; coarser
 * ones go out, and in the backward pass gradients of the finer ones. Begin reading with
 * {@link org.dl4jamp.onednn.pooling.PoolingTwin}.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.onednn.pooling;
