package org.dl4jamp.engine.nd4j;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.function.Function;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.shape.Shape;

/** Compares a result of a twin with DL4J's, within bounds that were computed for each. */
final class Comparison {
    private Comparison() {}

    /**
     * Checks every element.
     *
     * @param what for the message
     * @param dl4j DL4J's result in FP32
     * @param twin the twin's result
     * @param fullPrecision what the formula gives at an index, with the error of FP32
     * @param halfPrecision the same with the error of a twin
     */
    static void check(
            String what,
            INDArray dl4j,
            INDArray twin,
            Function<int[], Bounded> fullPrecision,
            Function<int[], Bounded> halfPrecision) {
        assertArrayEquals(dl4j.shape(), twin.shape(), what);
        for (long i = 0; i < dl4j.length(); i++) {
            long[] index = Shape.ind2subC(dl4j.shape(), i);
            int[] at = new int[index.length];
            for (int axis = 0; axis < at.length; axis++) {
                at[axis] = (int) index[axis];
            }
            Bounded full = fullPrecision.apply(at);
            Bounded half = halfPrecision.apply(at);
            double expected = dl4j.getDouble(index);
            double actual = twin.getDouble(index);
            String message = what + Arrays.toString(at) + ": DL4J " + expected + ", twin " + actual + ", exact " + half;
            assertTrue(full.admits(expected), message + ": DL4J's own value is off by more than " + full.error());
            assertTrue(half.admits(actual), message);
            assertTrue(Math.abs(actual - expected) <= full.error() + half.error(), message);
        }
    }
}
