package org.dl4jamp.onednn.product;

import java.util.OptionalDouble;
import org.dl4jamp.engine.host.Magnitudes;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Tells by the factors of a gradient of weights that it's finite. Each number of it is a sum of products of an input and a gradient of the output, in FP32, so that
 * neither it nor a sum on the way to it is larger than the number of products times the largest input times the largest gradient. Where few examples meet many
 * weights the factors are read in a tenth of the time that reading the gradient takes.
 */
final class FiniteProducts {
    /** Far below FP32's largest, which is almost 2^128: rounding makes each sum larger by 2^-24 of it at most. */
    private static final double LARGEST = 0x1p100;

    private static final long FEWEST_WEIGHTS = 1 << 18;

    private FiniteProducts() {}

    /**
     * Whether it's known that a gradient is finite. That it's not known tells nothing.
     *
     * @param input what the weights are multiplied by, in any order
     * @param delta the gradient of the products, in any order
     * @param weights how many there are
     */
    static boolean areKnown(INDArray input, INDArray delta, long weights) {
        if (weights < FEWEST_WEIGHTS || 2 * (input.length() + delta.length()) > weights) {
            return false;
        }
        OptionalDouble inputs = Magnitudes.largest(input);
        OptionalDouble deltas = Magnitudes.largest(delta);
        long most = Math.max(input.length(), delta.length());
        return inputs.isPresent() && deltas.isPresent() && most * inputs.getAsDouble() * deltas.getAsDouble() < LARGEST;
    }
}
