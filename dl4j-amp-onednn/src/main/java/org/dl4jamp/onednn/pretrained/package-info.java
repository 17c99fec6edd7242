/**
 * Autoencoders, which networks train with labels or pretrain without. Rows of features and FP32 master weights come in;
 * codes and FP32 gradients go out, and, in pretraining, scores. Begin reading with
 * {@link org.dl4jamp.onednn.pretrained.PretrainedLayers}; {@code Stage} is the product that both kinds are made of.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.onednn.pretrained;
