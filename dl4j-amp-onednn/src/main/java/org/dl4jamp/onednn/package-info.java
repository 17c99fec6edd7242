/**
 * The CPU engine {@code onednn}: BFLOAT16 and FP32 through oneDNN, in place on ND4J's buffers. Twins are DL4J layers that hand
 * activations on in channels-last memory order, with ordinary shape and strides; their primitives are made once for each shape.
 */
package org.dl4jamp.onednn;
