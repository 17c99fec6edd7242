/**
 * How rows of an embedding's table are looked up, and their gradients added up. Indices and the FP32 table come in;
 * rows, rounded when they are handed on, and FP32 gradients of the table go out. Begin reading with
 * {@link org.dl4jamp.onednn.embedding.EmbeddingRows}.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.onednn.embedding;
