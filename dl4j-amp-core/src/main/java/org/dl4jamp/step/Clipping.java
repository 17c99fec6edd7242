package org.dl4jamp.step;

import java.util.List;
import java.util.OptionalDouble;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.DynamicCustomOp;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Limits for a step's true gradients, the means of the effective batch: first for their Euclidean norm over the whole network, then for each of them.
 *
 * @param norm above it all gradients are made smaller by the same factor
 * @param value above it a gradient's magnitude becomes this
 */
public record Clipping(OptionalDouble norm, OptionalDouble value) {
    /** No limits. */
    public static final Clipping NONE = new Clipping(OptionalDouble.empty(), OptionalDouble.empty());

    /**
     * What gradients that are sums have to be divided by, in place of what makes means of them, so that the norm is within its limit. It costs no pass.
     *
     * @param divisor what makes means of them
     * @param normOfSums their norm; needed if there is a limit for it
     */
    float divisor(float divisor, OptionalDouble normOfSums) {
        return norm.isPresent() && normOfSums.orElseThrow() / divisor > norm.getAsDouble()
                ? (float) (normOfSums.orElseThrow() / norm.getAsDouble())
                : divisor;
    }

    /** Whether one has to know the norm. */
    boolean needsNorm() {
        return norm.isPresent();
    }

    /** Whether means are clipped one by one. */
    boolean clipsValues() {
        return value.isPresent();
    }

    /** Clips means one by one, as DL4J's {@code ClipElementWiseAbsoluteValue} does. */
    void clipValues(List<INDArray> means) {
        value.ifPresent(limit -> means.forEach(mean -> clip(mean, limit)));
    }

    private static void clip(INDArray array, double limit) {
        Nd4j.getExecutioner()
                .exec(DynamicCustomOp.builder("clipbyvalue")
                        .addInputs(array)
                        .callInplace(true)
                        .addFloatingPointArguments(-limit, limit)
                        .build());
    }

    /**
     * Clips gradients that somebody else makes means of.
     *
     * @param sums the gradients
     * @param divisor what they will be divided by
     * @param normOfSums their norm; needed if there is a limit for it
     */
    void clipSums(List<INDArray> sums, float divisor, OptionalDouble normOfSums) {
        float clipping = divisor(divisor, normOfSums);
        if (clipping != divisor) {
            sums.forEach(sum -> sum.muli(divisor / clipping));
        }
        value.ifPresent(limit -> sums.forEach(sum -> clip(sum, limit * divisor)));
    }
}
