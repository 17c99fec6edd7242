package org.dl4jamp.step;

import org.nd4j.linalg.api.ndarray.INDArray;

/** Where arrays lie. */
final class Memory {
    private Memory() {}

    /**
     * Returns whether two arrays without gaps are over the same memory: that in which the backend computes. On CUDA
     * this is the GPU's; {@code DataBuffer.address()} asks for its mirror on the host there, which most arrays are
     * without. A view's address has its offset in it there, and hasn't on the CPU, where it's told apart.
     */
    static boolean isSame(INDArray one, INDArray other) {
        return one.data().platformAddress() == other.data().platformAddress()
                && one.offset() == other.offset()
                && one.length() == other.length();
    }
}
