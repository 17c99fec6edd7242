/**
 * Output layers and their loss. Activations, FP32 weights, labels and masks come in; output, loss and gradients go out.
 * All but the factors of products is FP32. Begin reading with {@link org.dl4jamp.onednn.output.OutputPasses}.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.onednn.output;
