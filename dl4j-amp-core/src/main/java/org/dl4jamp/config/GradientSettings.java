package org.dl4jamp.config;

import org.dl4jamp.precision.AmpException;
import org.dl4jamp.scale.LossScaler;
import org.dl4jamp.scale.SharedLossScale;

/**
 * The part of {@link AmpConfig.Builder} that is about gradients: loss scale, skipped steps, accumulation, clipping.
 *
 * @param <B> the builder
 */
public abstract class GradientSettings<B extends GradientSettings<B>> {
    final Settings settings;

    GradientSettings(Settings settings) {
        this.settings = settings;
    }

    /** Returns this builder. */
    abstract B self();

    /**
     * Sets the loss scaler, of which each network takes a {@linkplain LossScaler#copy() copy} when it's enabled; by
     * default dynamic in HALF and none in other precisions. {@link #sharedLossScale} beside it is refused.
     */
    public B lossScaler(LossScaler lossScaler) {
        settings.lossScaler(lossScaler);
        return self();
    }

    /**
     * Sets one loss scale for several networks that are trained together, such as a GAN's; the program calls
     * {@link SharedLossScale#update()} once per iteration. Networks with truncated backpropagation through time, which
     * make a step of each segment, are refused with an {@link AmpException} when they are enabled. A network that is
     * saved with these settings has a scaler of its own when it's restored.
     */
    public B sharedLossScale(SharedLossScale shared) {
        settings.sharedLossScale(shared);
        return self();
    }

    /**
     * Sets how many skipped steps in a row end training, with an exception that names the source of the non-finite
     * gradients; default {@value AmpConfig#DEFAULT_MAX_CONSECUTIVE_SKIPS}.
     */
    public B maxConsecutiveSkips(int maxConsecutiveSkips) {
        settings.maxConsecutiveSkips(maxConsecutiveSkips);
        return self();
    }

    /**
     * Sets in how many first steps of a network no step is skipped because the loss scale is too large; default
     * {@value AmpConfig#DEFAULT_SCALE_SEARCH}. Where gradients overflow, the scaler is updated with an overflow, and
     * the gradients of the same batch are computed again at the lower scale, until they are finite. A pass more takes
     * as long as the step that would have been skipped.
     *
     * <p>With 0, or after these steps, an overflow skips the step, as in PyTorch. So it does with
     * {@link #sharedLossScale}, in truncated backpropagation through time, and where no scale makes the gradients
     * finite.
     */
    public B scaleSearch(int steps) {
        settings.scaleSearch(steps);
        return self();
    }

    /**
     * Adds a penalty on the norm of the gradient to the loss; none by default. Enabling it for a network with truncated
     * backpropagation through time throws an {@link AmpException}.
     */
    public B gradientPenalty(GradientPenalty gradientPenalty) {
        settings.gradientPenalty = AmpException.ifNull(
                gradientPenalty, "gradientPenalty", "a GradientPenalty, or leave the call out to have none");
        return self();
    }

    /** As {@link #accumulate(int, PartialGroup)}, with {@link PartialGroup#APPLY}. */
    public B accumulate(int microBatches) {
        return accumulate(microBatches, PartialGroup.APPLY);
    }

    /**
     * Makes one step of the optimizer of several calls of {@code fit}, for batches that don't fit into memory.
     * Gradients are added up in FP32, in one more array of the parameters' size. Minibatch division, gradient
     * normalization, clipping, L1, L2 and weight decay, updaters and schedules see one batch of all examples. The loss
     * scale stays constant meanwhile, and one micro-batch that isn't finite skips them all. Batch normalization has
     * statistics of each micro-batch, and moves its running statistics with each. In truncated BPTT each segment is a
     * micro-batch. Gradients and updates that a program computes itself aren't part of it.
     *
     * @param microBatches how many make a step, at least 1; default 1
     * @param partialGroup treatment of fewer at the end of an epoch; programs without epochs, as with
     *     {@code fit(DataSet)}, call {@link org.dl4jamp.MixedPrecision#applyPartialGroup()}
     */
    public B accumulate(int microBatches, PartialGroup partialGroup) {
        settings.accumulate(microBatches, partialGroup);
        return self();
    }

    /**
     * Limits the Euclidean norm of a step's gradients over the whole network, as PyTorch's {@code clip_grad_norm_}:
     * from {@link Float#MIN_NORMAL} to {@link Float#MAX_VALUE}; none by default. They are the true FP32 gradients,
     * means over the effective batch, without running statistics of batch normalization. DL4J's gradient normalization,
     * L1 and L2 come after.
     */
    public B clipGradientNorm(double maxNorm) {
        settings.clipGradientNorm = Settings.limit("clipGradientNorm", maxNorm);
        return self();
    }

    /**
     * Limits the magnitude of each of a step's gradients, after their norm, as PyTorch's {@code clip_grad_value_}: from
     * {@link Float#MIN_NORMAL} to {@link Float#MAX_VALUE}; none by default.
     */
    public B clipGradientValue(double maxValue) {
        settings.clipGradientValue = Settings.limit("clipGradientValue", maxValue);
        return self();
    }

    /**
     * Measures each step's norm for {@link org.dl4jamp.MixedPrecision#gradientNorm()}, which is slower than a check for
     * finite gradients. Default false; clipping by norm, and groups of 2 or more, measure it in any case.
     */
    public B measureGradientNorm(boolean measured) {
        settings.measuresGradientNorm = measured;
        return self();
    }

    /**
     * Gives each layer in HALF a scale of its own, in place of the loss scale; default false. For networks whose
     * gradients differ too much from layer to layer for one scale. Gradients flow between layers in FP32, and aren't
     * scaled. A layer multiplies the one that it is given by a power of two, which it takes out of its results. The
     * power is chosen in each pass, by the largest number. Takes more time and memory than a loss scale. The idea is
     * that of Zhao et al. 2019, "Adaptive Loss Scaling for Mixed Precision Training".
     */
    public B layerScales(boolean ofLayers) {
        settings.layerScales = ofLayers;
        return self();
    }

    /**
     * Changes these settings while a network trains where HALF's range is too small for it; default false. Needs the
     * module dl4j-amp-listeners. Each change is logged with its reason at WARN, and
     * {@link org.dl4jamp.MixedPrecision#config()} and checkpoints have it.
     *
     * <ul>
     *   <li>Gradients of a layer mostly underflow, or overflow at a loss scale of 1 and below: {@link #layerScales}
     *       becomes true.
     *   <li>A layer's output isn't finite though it is in FP32, or its gradients aren't with a scale of its own:
     *       {@link AmpConfig.Builder#keepFull(String)} keeps the layer in FP32.
     * </ul>
     *
     * <p>Underflow is looked for after the steps 1, 2, 4, 8, ... by two further backward passes, from 1,024 on after
     * every 1,024th. In truncated backpropagation through time, where passes can't be repeated, only overflowing
     * gradients are acted on. In other precisions than HALF nothing is done.
     */
    public B selfHealing(boolean heals) {
        settings.selfHealing = heals;
        return self();
    }
}
