package org.dl4jamp.step;

import org.nd4j.linalg.api.ndarray.INDArray;

/** Compares the addresses of arrays. */
final class Memory {
    private Memory() {}

    /**
     * Returns whether two arrays without gaps are over the same memory: that in which the backend computes. On CUDA
     * this is the GPU's; {@code DataBuffer.address()} returns its mirror on the host there, which most arrays don't
     * have. A view's address includes its offset there; on the CPU it doesn't, and the offset is compared, too.
     */
    static boolean isSame(INDArray one, INDArray other) {
        return one.data().platformAddress() == other.data().platformAddress()
                && one.offset() == other.offset()
                && one.length() == other.length();
    }
}
