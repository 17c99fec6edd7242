/**
 * Embeddings: look-up of rows in the table, and summation of their gradients. Indices and the FP32 table come in;
 * rounded rows, and FP32 gradients of the table, go out. Begin reading with
 * {@link org.dl4jamp.onednn.embedding.EmbeddingRows}.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.onednn.embedding;
