package org.dl4jamp.precision;

/** The need for precision of a kind of layer or vertex. */
public enum LayerKind {
    /** Worth half precision: sums of products, such as dense, convolutional, recurrent and attention layers. */
    LOWER,
    /** Must stay FP32: losses, softmax and log-like functions, statistics over large sets. */
    FULL,
    /** Cheap either way: runs in the precision of its input, so that half regions are not cut into pieces. */
    FOLLOW
}
