package org.dl4jamp.onednn.memory;

import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Other shapes of numbers that are there already. ND4J's {@code permute} and {@code reshape} describe each view's shape
 * anew in native memory, which takes longer than small layers take to compute.
 */
public final class Views {
    private Views() {}

    /** Returns the same numbers, the axes in another order. */
    public static INDArray permuted(INDArray array, int... axes) {
        return ArrayShapes.array(array.data(), Layout.of(array).permuted(axes));
    }

    /** Returns a matrix with rows and columns exchanged. */
    public static INDArray transposed(INDArray matrix) {
        return permuted(matrix, 1, 0);
    }

    /** Returns an array in another shape, in ND4J's order {@code c}; a copy if the array isn't in that order. */
    public static INDArray reshaped(INDArray array, long... shape) {
        return Layout.dense(array.dataType(), array.shape()).isThatOf(array)
                ? ArrayShapes.array(array.data(), Layout.dense(array.dataType(), shape))
                : array.reshape('c', shape);
    }
}
