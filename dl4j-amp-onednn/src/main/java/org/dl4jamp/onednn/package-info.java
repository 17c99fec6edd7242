/**
 * The CPU engine {@code onednn}: BFLOAT16 and FP32 through oneDNN, in place on ND4J's buffers. A network's layers and
 * vertices come in, with what the plan says of them; twins go out, which are DL4J layers that hand activations on in
 * channels-last memory order, with ordinary shape and strides, and whose primitives are made once for each shape. This
 * package is the door, and the only one that other modules may name: begin reading with
 * {@link org.dl4jamp.onednn.OneDnnEngine}, which finds out what a layer can have, and {@code OneDnnSession}, which
 * makes it. The packages below it are rooms of the engine, in which each may use those on the floors below, never those
 * above.
 */
package org.dl4jamp.onednn;
