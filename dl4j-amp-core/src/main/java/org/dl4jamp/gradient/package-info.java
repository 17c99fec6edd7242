/**
 * Gradients between the backward pass and the decision whether they count: their parts, the check for non-finite
 * numbers, the sums of micro-batches, clipping and the gradient penalty.
 *
 * <p>All of it is internal.
 */
package org.dl4jamp.gradient;
