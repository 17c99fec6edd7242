package org.dl4jamp.gradient;

import java.util.List;
import java.util.OptionalDouble;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.DynamicCustomOp;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Limits for a step's true gradients, the means of the effective batch: first for their Euclidean norm over the whole
 * network, then for each of them.
 *
 * @param norm above it all gradients are made smaller by the same factor
 * @param value above it a gradient's magnitude becomes this
 */
public record Clipping(OptionalDouble norm, OptionalDouble value) {
    /**
     * Returns what true gradients have to be multiplied by, so that their norm is within its limit: at most 1.
     *
     * @param ofGradients their norm; needed if there is a limit for it
     */
    public double factor(OptionalDouble ofGradients) {
        return norm.isPresent() ? Math.min(1, norm.getAsDouble() / ofGradients.orElseThrow()) : 1;
    }

    /** Clips means one by one, as DL4J's {@code ClipElementWiseAbsoluteValue} does. */
    public void clipValues(List<INDArray> means) {
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
     * Clips gradients whose means are made later.
     *
     * @param gradients with the sums that are to be means
     * @param divisor the later divisor of the sums
     * @param factor the factor that brings the true gradients within the limit of their norm
     */
    public void clipBefore(GradientParts.Parted gradients, float divisor, double factor) {
        if (factor != 1) {
            gradients.sums().forEach(sum -> sum.muli(factor));
            gradients.means().forEach(mean -> mean.muli(factor));
        }
        value.ifPresent(limit -> gradients.sums().forEach(sum -> clip(sum, limit * divisor)));
        clipValues(gradients.means());
    }
}
