package org.dl4jamp.step;

import java.util.Optional;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.impl.reduce.longer.MatchCondition;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.conditions.Conditions;

/** Looks for infinities and NaN. */
final class FiniteCheck {
    private FiniteCheck() {}

    /** Whether all elements are finite: one reduction and one number read by the host, unless they aren't. */
    static boolean allFinite(INDArray array) {
        // The sum of magnitudes is twenty times faster than counting. It may overflow on finite elements, so a suspicion is checked.
        return Double.isFinite(array.norm1Number().doubleValue()) || count(array) == 0;
    }

    private static long count(INDArray array) {
        return Nd4j.getExecutioner()
                .exec(new MatchCondition(array, Conditions.notFinite()))
                .getLong(0);
    }

    /**
     * Where the first infinity or NaN is, and which.
     *
     * @return text such as {@code NaN at [0, 3]}; empty if all elements are finite or there is no array
     */
    static Optional<String> firstNonFinite(INDArray array) {
        if (array == null || !array.dataType().isFPType() || allFinite(array)) {
            return Optional.empty();
        }
        INDArray flat = array.dup('c').reshape(array.length());
        for (long i = 0; i < flat.length(); i++) {
            double value = flat.getDouble(i);
            if (!Double.isFinite(value)) {
                return Optional.of(value + " at " + java.util.Arrays.toString(position(i, array.shape())));
            }
        }
        throw new IllegalStateException("an array counted " + count(array) + " non-finite elements, but none was found");
    }

    private static long[] position(long index, long[] shape) {
        long[] position = new long[shape.length];
        for (int axis = shape.length - 1; axis >= 0; axis--) {
            position[axis] = index % shape[axis];
            index /= shape[axis];
        }
        return position;
    }
}
