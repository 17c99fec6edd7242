/**
 * Attention: sequences and masks come in; a weighted sum of values for each query goes out, or the gradients of all
 * that made it. Scores and softmax are FP32, a block of rows at a time. Begin reading with
 * {@link org.dl4jamp.onednn.attention.ScaledDotProduct}.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.onednn.attention;
