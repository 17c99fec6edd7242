package org.dl4jamp.precision;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

class SensitiveActivationTest {
    /** Beyond what pre-activations of a network in training reach, and far within HALF's range of 65504. */
    private static final double LARGEST_ARGUMENT = 100;

    @ParameterizedTest
    @EnumSource(
            value = Activation.class,
            // RReLU draws its slopes at random, and its gradient needs a forward pass first.
            mode = EnumSource.Mode.EXCLUDE,
            names = {"RRELU"})
    void aFunctionIsCalledOverflowingIfAndOnlyIfNd4jsValueOrGradientLeavesHalf(Activation activation) {
        IActivation function = activation.getActivationFunction();
        INDArray arguments = Nd4j.linspace(DataType.FLOAT, -LARGEST_ARGUMENT, LARGEST_ARGUMENT / 128, 257)
                .castTo(DataType.HALF)
                .reshape(1, 257);
        INDArray ones = Nd4j.ones(DataType.HALF, 1, 257);

        boolean overflows = !finite(function.getActivation(arguments.dup(), true))
                || !finite(function.backprop(arguments.dup(), ones).getFirst());

        assertEquals(Optional.of(SensitiveActivation.OVERFLOWS).equals(SensitiveActivation.of(function)), overflows);
    }

    @ParameterizedTest
    @EnumSource(Activation.class)
    void everyActivationFunctionOfNd4jIsKnown(Activation activation) {
        assertFalse(SensitiveActivation.of(activation.getActivationFunction())
                .filter(a -> a == SensitiveActivation.UNKNOWN)
                .isPresent());
    }

    @Test
    void noActivationFunctionIsNotSensitive() {
        assertTrue(SensitiveActivation.of(null).isEmpty());
    }

    private static boolean finite(INDArray array) {
        return !array.isNaN().any() && !array.isInfinite().any();
    }
}
