package org.dl4jamp.layer;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.DoubleSupplier;
import org.dl4jamp.dl4j.NetworkCall;
import org.nd4j.linalg.api.buffer.DataType;

/**
 * The factor of the gradients in the backward pass in progress: the loss scale, divided by the number of loss terms.
 *
 * <p>DL4J's gradients are sums over the minibatch until its updater divides them, and a loss scale that suits a mean
 * would overflow on such sums. So the gradients that flow back through half layers are those of the mean loss times the
 * loss scale, as in PyTorch. The number of terms is rounded up to a power of two: then this factor changes no digit of
 * a gradient, only its exponent.
 *
 * <p>All output layers of a network share one, because their gradients meet in the layers below. Output layers call
 * {@link #begin}; layers with parameters multiply the gradients they have written by the reciprocal of
 * {@link #factor()}.
 *
 * <p>Only steps are scaled: a step that overflows is skipped, and the next has a lower scale. Other backward passes,
 * which return gradients to a program or begin with its errors, have to be right at once. Their gradients flow unscaled
 * between layers, in FP32, whose range needs no scale; a twin that takes HALF gradients has a scale of its own. With
 * {@code AmpConfig.layerScales} that goes for steps, too.
 */
public final class GradientScale {
    private final DoubleSupplier lossScale;
    private final BooleanSupplier repeatsStep;
    private final boolean half;
    private final boolean ofLayers;
    private final Set<Object> outputs = Collections.newSetFromMap(new IdentityHashMap<>());
    private boolean step;
    private double factor = 1;

    /**
     * @param lossScale the loss scale of the next backward pass
     * @param repeatsStep whether a backward pass outside of DL4J's optimizer is a step's all the same
     * @param half whether there are gradients in HALF, so that sums over the minibatch don't fit, and unscaled ones
     *     neither; BFLOAT16 has FP32's range
     * @param ofLayers whether steps aren't scaled either, because each layer in HALF has a scale of its own
     */
    public GradientScale(DoubleSupplier lossScale, BooleanSupplier repeatsStep, boolean half, boolean ofLayers) {
        this.lossScale = lossScale;
        this.repeatsStep = repeatsStep;
        this.half = half;
        this.ofLayers = ofLayers;
    }

    /** Returns one for layers whose loss isn't scaled. */
    public static GradientScale none() {
        return new GradientScale(() -> 1, () -> false, false, false);
    }

    /** Called when a layer is given its input, or runs forward: the next pass may be any backward pass. */
    void forwardBegins() {
        step = false;
        factor = 1;
        outputs.clear();
    }

    /**
     * Returns the factor of this backward pass. The first output layer of the pass determines it by the number of terms
     * of which its loss is the sum.
     */
    double begin(Object output, long lossTerms) {
        if (outputs.isEmpty() || !outputs.add(output)) {
            outputs.clear();
            outputs.add(output);
            step = repeatsStep.getAsBoolean() || NetworkCall.isStep();
            factor = step && !ofLayers ? ofStep(lossTerms) : 1;
        }
        return factor;
    }

    private double ofStep(long lossTerms) {
        return half ? lossScale.getAsDouble() / powerOfTwoAtLeast(lossTerms) : lossScale.getAsDouble();
    }

    /** Returns whether the backward pass in progress is a step's; false if no output layer has begun it. */
    boolean isStep() {
        return step;
    }

    /** Returns what true gradients have been multiplied by in the last backward pass. */
    public double factor() {
        return factor;
    }

    /** Returns whether the gradients of the backward pass in progress are not fit for HALF. */
    boolean needFloat() {
        return half && (ofLayers || !step);
    }

    /** Returns the type of the gradient of activations of a type in the backward pass in progress. */
    public DataType gradientType(DataType activations) {
        return activations == DataType.HALF && needFloat() ? DataType.FLOAT : activations;
    }

    private static double powerOfTwoAtLeast(long terms) {
        long highest = Long.highestOneBit(Math.max(1, terms));
        return highest == terms ? highest : highest * 2.0;
    }
}
