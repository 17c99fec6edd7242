package org.dl4jamp.onednn;

import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A ReLU layer that what stands before it computes in the same pass, in training. The layer itself then hands its input on; on the way back it
 * takes ReLU's derivative, since DL4J wants a copy of the gradient from it anyway and that costs no more.
 */
final class FusedRelu {
    /** What takes part in a fusion. */
    interface Partner {
        void fuse(FusedRelu relu);
    }

    private INDArray made;

    /** Tells the layer that ReLU has been applied to an array that it's about to be given. */
    void made(INDArray output) {
        made = output;
    }

    /** Whether ReLU has been applied to an array. Asked once. */
    @SuppressWarnings("ReferenceEquality")
    boolean takes(INDArray input) {
        boolean same = made == input;
        made = null;
        return same;
    }
}
