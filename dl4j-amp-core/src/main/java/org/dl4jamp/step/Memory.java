package org.dl4jamp.step;

import org.nd4j.linalg.api.ndarray.INDArray;

/** Where arrays lie. */
final class Memory {
    private Memory() {}

    /** Whether two arrays without gaps are over the same memory. */
    static boolean isSame(INDArray one, INDArray other) {
        return one.data().address() == other.data().address()
                && one.offset() == other.offset()
                && one.length() == other.length();
    }
}
