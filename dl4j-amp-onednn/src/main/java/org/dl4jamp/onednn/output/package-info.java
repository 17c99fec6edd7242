/**
 * How output layers multiply, and what their loss is. Activations and FP32 weights come in, labels and their masks too;
 * output, loss and gradients, in FP32 but for what enters products, go out. Begin reading with
 * {@link org.dl4jamp.onednn.output.OutputPasses}.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.onednn.output;
