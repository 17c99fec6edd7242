package org.dl4jamp.gradient;

import java.util.Arrays;
import java.util.Optional;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.impl.indexaccum.FirstIndex;
import org.nd4j.linalg.api.ops.impl.reduce.longer.MatchCondition;
import org.nd4j.linalg.api.shape.Shape;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.conditions.Conditions;

/** Looks for infinities and NaN where a step has failed. */
public final class FiniteCheck {
    private FiniteCheck() {}

    /** Returns whether all elements of an array are finite. */
    static boolean isFinite(INDArray array) {
        return Nd4j.getExecutioner()
                        .exec(new MatchCondition(array, Conditions.notFinite()))
                        .getLong(0)
                == 0;
    }

    /**
     * Returns the first infinity or NaN and its place, such as {@code NaN at [0, 3]}; empty if all elements are finite
     * or there is no array.
     */
    public static Optional<String> firstNonFinite(INDArray array) {
        if (array == null || !array.dataType().isFPType()) {
            return Optional.empty();
        }
        // ND4J takes NaN in HALF for finite.
        INDArray numbers = array.dataType() == DataType.HALF ? array.castTo(DataType.FLOAT) : array;
        if (isFinite(numbers)) {
            return Optional.empty();
        }
        INDArray flat = numbers.dup('c').reshape(array.length());
        long first = Nd4j.getExecutioner()
                .exec(new FirstIndex(flat, Conditions.notFinite()))
                .getLong(0);
        return Optional.of(flat.getDouble(first) + " at " + Arrays.toString(Shape.ind2subC(array.shape(), first)));
    }
}
