package org.dl4jamp.onednn;

import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.indexing.NDArrayIndex;

/**
 * A contiguous part of an array.
 *
 * @param array contiguous
 * @param offset where the part begins
 */
record Slab(INDArray array, long offset) {
    static Slab of(INDArray array) {
        return new Slab(array, 0);
    }

    /** What begins later by some numbers. */
    Slab plus(long numbers) {
        return new Slab(array, offset + numbers);
    }

    long address() {
        return Workspaces.address(array) + offset * array.dataType().width();
    }

    /** The same memory as an array of its own, with one axis. */
    INDArray vector(long length) {
        return array.reshape(array.length()).get(NDArrayIndex.interval(offset, offset + length));
    }
}
