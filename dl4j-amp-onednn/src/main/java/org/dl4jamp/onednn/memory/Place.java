package org.dl4jamp.onednn.memory;

import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Where numbers begin in native memory, and the Java object that keeps that memory: ND4J frees the memory of an array
 * as soon as nothing refers to the array, whoever still has the address.
 *
 * @param owner what keeps the memory; null if that is what the kernel belongs to, which lives longer than it
 * @param address where the numbers begin
 * @param bytes how much memory there is
 */
public record Place(Object owner, long address, long bytes) {
    /** That of an array, which may be a view of another. */
    public static Place of(INDArray array) {
        return new Place(
                array,
                Workspaces.address(array),
                extent(array) * array.dataType().width());
    }

    /**
     * Memory that is kept longer than the kernels that use it: the copies of a layer's weights, a network's scratchpad
     * and the like.
     */
    public static Place kept(long address) {
        return new Place(null, address, Long.MAX_VALUE);
    }

    /** Returns how many numbers lie between the first and the last of an array, including both. */
    private static long extent(INDArray array) {
        long last = 0;
        for (int axis = 0; axis < array.rank(); axis++) {
            last += (array.size(axis) - 1) * array.stride(axis);
        }
        return last + 1;
    }
}
