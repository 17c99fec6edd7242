package org.dl4jamp.onednn.array;

import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.indexing.NDArrayIndex;

/**
 * A contiguous part of an array.
 *
 * @param array contiguous
 * @param offset where the part begins
 */
public record Slab(INDArray array, long offset) {
    public static Slab of(INDArray array) {
        return new Slab(array, 0);
    }

    /** What begins later by some numbers. */
    public Slab plus(long numbers) {
        return new Slab(array, offset + numbers);
    }

    public long address() {
        return Workspaces.address(array) + offset * array.dataType().width();
    }

    /** The same memory as an array of its own, with one axis. */
    public INDArray vector(long length) {
        return array.reshape(array.length()).get(NDArrayIndex.interval(offset, offset + length));
    }
}
