package org.dl4jamp.engine.nd4j;

import java.util.function.BiFunction;
import java.util.stream.DoubleStream;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Checks arithmetic of BFLOAT16 arrays and numbers, which vertices and unscaling stand on. On an H200 and
 * {@code nd4j-cuda-11.2} 1.0.0-M1.1, vertices that scale and shift came out wrong by a tenth and more.
 */
final class Bfloat16Check {
    /** Numbers with and without fractions, and an inverse loss scale. */
    private static final double[] NUMBERS = {1.7, 0.4, -0.3, 2, 1.0 / 65536};

    /** Two roundings to eight binary digits. */
    private static final double TOLERANCE = 1.0 / 128;

    private Bfloat16Check() {}

    /** Returns whether multiplying by numbers and adding them is right but for rounding. */
    static boolean isRight(
            BiFunction<INDArray, Number, INDArray> multiply, BiFunction<INDArray, Number, INDArray> add) {
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            INDArray three =
                    Nd4j.valueArrayOf(new long[] {2, 3}, 3.0, DataType.FLOAT).castTo(DataType.BFLOAT16);
            return DoubleStream.of(NUMBERS)
                    .allMatch(number -> isNear(3 * number, multiply.apply(three, number))
                            && isNear(3 + number, add.apply(three, number)));
        }
    }

    private static boolean isNear(double expected, INDArray actual) {
        return DoubleStream.of(actual.castTo(DataType.DOUBLE).ravel().toDoubleVector())
                .allMatch(value -> Math.abs(value - expected) <= TOLERANCE * Math.abs(expected));
    }
}
