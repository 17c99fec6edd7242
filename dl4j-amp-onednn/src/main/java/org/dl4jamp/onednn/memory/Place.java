package org.dl4jamp.onednn.memory;

import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * An address in native memory, and the Java object that keeps that memory. ND4J frees an array's memory as soon as
 * nothing refers to the array, even if its address is still in use.
 *
 * @param owner keeps the memory; null if the kernel's owner does, which outlives the kernel
 */
public record Place(Object owner, long address, long bytes) {
    /** Returns the place of an array, which may be a view of another. */
    public static Place of(INDArray array) {
        return new Place(
                array,
                Workspaces.address(array),
                extent(array) * array.dataType().width());
    }

    /** Returns a place in memory that outlives its kernels, such as a copy of weights or a scratchpad. */
    public static Place kept(long address) {
        return new Place(null, address, Long.MAX_VALUE);
    }

    /** Returns how many numbers there are from the first to the last of an array, with gaps. */
    private static long extent(INDArray array) {
        long last = 0;
        for (int axis = 0; axis < array.rank(); axis++) {
            last += (array.size(axis) - 1) * array.stride(axis);
        }
        return last + 1;
    }
}
