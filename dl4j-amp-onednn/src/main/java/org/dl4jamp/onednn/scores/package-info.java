/**
 * Scaled dot products of several heads. Queries, keys and values come in. The sum of the values, weighted by a softmax
 * of scores, goes out, or the gradients of all three. Scores and softmax are FP32, a block of rows at a time. Begin
 * reading with {@link org.dl4jamp.onednn.scores.ScaledDotProduct}.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.onednn.scores;
