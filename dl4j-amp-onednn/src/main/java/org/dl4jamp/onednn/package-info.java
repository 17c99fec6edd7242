/**
 * The CPU engine {@code onednn}: BFLOAT16 and FP32 through oneDNN, in place on ND4J's buffers. A network's layers and
 * vertices come in, with their entries in the plan; twins go out. Twins are DL4J layers that return activations in
 * channels-last memory order, with ordinary shape and strides. Their primitives are made once for each shape. This
 * package is the door, and the only one that other modules may name. Begin reading with
 * {@link org.dl4jamp.onednn.OneDnnEngine}, which checks each layer, and {@code OneDnnSession}, which makes the twins.
 * The packages below it are the rooms of the engine. Each may use those on the floors below, never those above.
 */
package org.dl4jamp.onednn;
