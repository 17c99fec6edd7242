package org.dl4jamp.layer;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import java.util.function.DoubleSupplier;

/**
 * By how much the gradients of the backward pass in progress are scaled: the loss scale, divided by the number of loss terms.
 *
 * <p>DL4J's gradients are sums over the minibatch until its updater divides them, and a loss scale that suits a mean would overflow on such
 * sums. So the gradients that flow back through half layers are those of the mean loss times the loss scale, as in PyTorch. The number of
 * terms is rounded up to a power of two: then this factor changes no digit of a gradient, only its exponent.
 *
 * <p>All output layers of a network share one, because their gradients meet in the layers below. Output layers call {@link #begin}; layers
 * with parameters multiply the gradients they have written by {@link #inverse()}.
 */
public final class GradientScale {
    private final DoubleSupplier lossScale;
    private final boolean meanLoss;
    private final Set<Object> outputs = Collections.newSetFromMap(new IdentityHashMap<>());
    private double factor = 1;

    /**
     * @param lossScale the loss scale of the next backward pass
     * @param meanLoss whether to divide by the number of loss terms
     */
    public GradientScale(DoubleSupplier lossScale, boolean meanLoss) {
        this.lossScale = lossScale;
        this.meanLoss = meanLoss;
    }

    /**
     * The factor of this backward pass. The first output layer of the pass decides on it.
     *
     * @param output the output layer that asks
     * @param lossTerms how many terms its loss is the sum of
     */
    double begin(Object output, long lossTerms) {
        if (outputs.isEmpty() || !outputs.add(output)) {
            outputs.clear();
            outputs.add(output);
            factor = meanLoss ? lossScale.getAsDouble() / powerOfTwoAtLeast(lossTerms) : lossScale.getAsDouble();
        }
        return factor;
    }

    /** What true gradients have been multiplied by in the last backward pass. */
    public double factor() {
        return factor;
    }

    /** The reciprocal of {@link #factor()}, taken in double precision. */
    double inverse() {
        return 1.0 / factor;
    }

    private static double powerOfTwoAtLeast(long terms) {
        long highest = Long.highestOneBit(Math.max(1, terms));
        return highest == terms ? highest : highest * 2.0;
    }
}
