/**
 * Attention: sequences and masks come in; a weighted sum of values for each query goes out, or the gradients of all
 * that made it. Begin reading with {@link org.dl4jamp.onednn.attention.AttentionPasses}.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.onednn.attention;
