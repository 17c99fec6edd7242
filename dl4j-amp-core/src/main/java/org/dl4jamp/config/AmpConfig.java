package org.dl4jamp.config;

import java.io.InvalidObjectException;
import java.io.ObjectInputStream;
import java.io.Serializable;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Predicate;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.LayerKind;
import org.dl4jamp.precision.OptLevel;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.LossScaler;
import org.dl4jamp.scale.SharedLossScale;

/**
 * Settings of mixed precision for one network. Immutable.
 *
 * <pre>
 * AmpConfig.builder().precision(Precision.HALF).keepFull("bn_.*").lower(DenseLayer.class).build();
 * </pre>
 *
 * <p>Serializable, unless a rule by predicate or a loss scaler of the user's own is among them: {@code writeObject}
 * then throws an {@link AmpException} that names them. A scaler or a scale that is {@linkplain Builder#sharedLossScale
 * shared} arrives as one of its own.
 */
public final class AmpConfig implements Serializable {
    private static final long serialVersionUID = 1L;

    /** Value of {@link Builder#engine} that leaves the choice to dl4j-amp. */
    public static final String AUTO_ENGINE = "auto";

    /** Default of {@link Builder#maxConsecutiveSkips}. */
    public static final int DEFAULT_MAX_CONSECUTIVE_SKIPS = 50;

    private final transient Settings settings;

    private AmpConfig(Settings settings) {
        this.settings = settings;
    }

    /** Returns settings that fit most networks: everything automatic. */
    public static AmpConfig defaults() {
        return builder().build();
    }

    public static Builder builder() {
        return new Builder();
    }

    public Precision precision() {
        return settings.precision;
    }

    public OptLevel optLevel() {
        return settings.optLevel;
    }

    /** Returns the name of the compute engine, or {@code auto}. */
    public String engine() {
        return settings.engine;
    }

    /** Returns the overrides, in the order in which they were given. */
    public List<PrecisionRule> rules() {
        return settings.rules;
    }

    /**
     * Returns the loss scaler that was given; networks take a {@linkplain LossScaler#copy() copy}, unless it's
     * {@linkplain #isLossScalerShared() shared}. Empty for the default: dynamic in HALF, none otherwise.
     */
    public Optional<LossScaler> lossScaler() {
        return Optional.ofNullable(settings.lossScaler)
                .or(() -> sharedLossScale().map(SharedLossScale::scaler));
    }

    /** Returns the scale that networks share, if they share one. */
    public Optional<SharedLossScale> sharedLossScale() {
        return Optional.ofNullable(settings.sharedLossScale);
    }

    /** Returns whether networks that are enabled with these settings use the very scaler that was given. */
    public boolean isLossScalerShared() {
        return settings.sharedLossScale != null;
    }

    /** Returns the number of skipped steps in a row after which training stops with an exception. */
    public int maxConsecutiveSkips() {
        return settings.maxConsecutiveSkips;
    }

    /** Returns the penalty that is added to the loss, if there is one. */
    public Optional<GradientPenalty> gradientPenalty() {
        return Optional.ofNullable(settings.gradientPenalty);
    }

    /** Returns how many calls of {@code fit} make one step of the optimizer; 1 if each does. */
    public int accumulate() {
        return settings.microBatches;
    }

    /** Returns the treatment of fewer micro-batches at the end of an epoch. */
    public PartialGroup partialGroup() {
        return settings.partialGroup;
    }

    /** Returns the largest Euclidean norm of a step's gradients over the whole network, if there is a limit. */
    public OptionalDouble clipGradientNorm() {
        return settings.clipGradientNorm;
    }

    /** Returns the largest magnitude of each of a step's gradients, if there is a limit. */
    public OptionalDouble clipGradientValue() {
        return settings.clipGradientValue;
    }

    /** Returns whether each step measures the norm of its gradients where nothing else needs it. */
    public boolean measuresGradientNorm() {
        return settings.measuresGradientNorm;
    }

    /** Returns the calls that make these settings; a scaler is shown with its state. */
    @Override
    public String toString() {
        return settings.toString();
    }

    /** Returns precision, preset, engine and rules alone, for {@link org.dl4jamp.MixedPrecision#inference}. */
    public AmpConfig forInference() {
        return new AmpConfig(settings.forInference());
    }

    private Object writeReplace() {
        return new AmpConfigJson.Serialized(AmpConfigJson.text(this));
    }

    private void readObject(ObjectInputStream in) throws InvalidObjectException {
        throw new InvalidObjectException("an AmpConfig is written as JSON, and this stream holds another form");
    }

    /**
     * Builds {@link AmpConfig}. Each method returns the builder. Of the rules that match a layer the most specific
     * wins, see {@link PrecisionRule}.
     */
    public static final class Builder {
        private final Settings settings = new Settings();

        private Builder() {}

        /** Sets the precision of the layers in lower precision; default {@link Precision#AUTO}. */
        public Builder precision(Precision precision) {
            settings.precision = AmpException.ifNull(precision, "precision", "AUTO, HALF, BFLOAT16 or FLOAT");
            return this;
        }

        /** Sets the preset of the policy; default {@link OptLevel#O1}. */
        public Builder optLevel(OptLevel optLevel) {
            settings.optLevel = AmpException.ifNull(optLevel, "optLevel", "O0, O1, O2 or O3");
            return this;
        }

        /** Sets the engine, such as {@code nd4j}; default {@code auto}. Looked up when a network is enabled. */
        public Builder engine(String engine) {
            settings.engine(engine);
            return this;
        }

        /** Keeps layers in FP32 whose whole name matches a regular expression. */
        public Builder keepFull(String nameRegex) {
            return rule(PrecisionRule.ByName.of(LayerKind.FULL, nameRegex));
        }

        /** Keeps layers of a configuration class, and of its subclasses, in FP32. */
        public Builder keepFull(Class<? extends Layer> layerClass) {
            return rule(new PrecisionRule.ByClass(LayerKind.FULL, layerClass));
        }

        /** Keeps layers in FP32 whose configuration satisfies a predicate. */
        public Builder keepFull(Predicate<? super Layer> predicate) {
            return rule(new PrecisionRule.ByPredicate(LayerKind.FULL, predicate));
        }

        /** Runs layers in lower precision whose whole name matches a regular expression. */
        public Builder lower(String nameRegex) {
            return rule(PrecisionRule.ByName.of(LayerKind.LOWER, nameRegex));
        }

        /** Runs layers of a configuration class, and of its subclasses, in lower precision. */
        public Builder lower(Class<? extends Layer> layerClass) {
            return rule(new PrecisionRule.ByClass(LayerKind.LOWER, layerClass));
        }

        /** Runs layers in lower precision whose configuration satisfies a predicate. */
        public Builder lower(Predicate<? super Layer> predicate) {
            return rule(new PrecisionRule.ByPredicate(LayerKind.LOWER, predicate));
        }

        Builder rule(PrecisionRule rule) {
            settings.rules.add(rule);
            return this;
        }

        /**
         * Sets the loss scaler, of which each network takes a {@linkplain LossScaler#copy() copy} when it's enabled; by
         * default dynamic in HALF and none in other precisions. {@link #sharedLossScale} beside it is refused.
         */
        public Builder lossScaler(LossScaler lossScaler) {
            settings.lossScaler(lossScaler);
            return this;
        }

        /**
         * Sets one loss scale for several networks that are trained together, such as a GAN's; the program calls
         * {@link SharedLossScale#update()} once per iteration. Networks with truncated backpropagation through time,
         * which make a step of each segment, are refused with an {@link AmpException} when they are enabled. A network
         * that is saved with these settings has a scaler of its own when it's restored.
         */
        public Builder sharedLossScale(SharedLossScale shared) {
            settings.sharedLossScale(shared);
            return this;
        }

        /**
         * Sets how many skipped steps in a row end training, with an exception that names the source of the non-finite
         * gradients; default {@value #DEFAULT_MAX_CONSECUTIVE_SKIPS}.
         */
        public Builder maxConsecutiveSkips(int maxConsecutiveSkips) {
            settings.maxConsecutiveSkips(maxConsecutiveSkips);
            return this;
        }

        /**
         * Adds a penalty on the norm of the gradient to the loss; none by default. Enabling it for a network with
         * truncated backpropagation through time throws an {@link AmpException}.
         */
        public Builder gradientPenalty(GradientPenalty gradientPenalty) {
            settings.gradientPenalty = AmpException.ifNull(
                    gradientPenalty, "gradientPenalty", "a GradientPenalty, or leave the call out to have none");
            return this;
        }

        /** As {@link #accumulate(int, PartialGroup)}, with {@link PartialGroup#APPLY}. */
        public Builder accumulate(int microBatches) {
            return accumulate(microBatches, PartialGroup.APPLY);
        }

        /**
         * Makes one step of the optimizer of several calls of {@code fit}, for batches that don't fit into memory.
         * Gradients are added up in FP32, in one more array of the parameters' size. Minibatch division, gradient
         * normalization, clipping, L1, L2 and weight decay, updaters and schedules see one batch of all examples. The
         * loss scale stays constant meanwhile, and one micro-batch that isn't finite skips them all. Batch
         * normalization has statistics of each micro-batch, and moves its running statistics with each. In truncated
         * BPTT each segment is a micro-batch. Gradients and updates that a program computes itself aren't part of it.
         *
         * @param microBatches how many make a step, at least 1; default 1
         * @param partialGroup treatment of fewer at the end of an epoch; programs without epochs, as with
         *     {@code fit(DataSet)}, call {@link org.dl4jamp.MixedPrecision#applyPartialGroup()}
         */
        public Builder accumulate(int microBatches, PartialGroup partialGroup) {
            settings.accumulate(microBatches, partialGroup);
            return this;
        }

        /**
         * Limits the Euclidean norm of a step's gradients over the whole network, as PyTorch's {@code clip_grad_norm_}:
         * from {@link Float#MIN_NORMAL} to {@link Float#MAX_VALUE}; none by default. They are the true FP32 gradients,
         * means over the effective batch, without running statistics of batch normalization. DL4J's gradient
         * normalization, L1 and L2 come after.
         */
        public Builder clipGradientNorm(double maxNorm) {
            settings.clipGradientNorm = Settings.limit("clipGradientNorm", maxNorm);
            return this;
        }

        /**
         * Limits the magnitude of each of a step's gradients, after their norm, as PyTorch's {@code clip_grad_value_}:
         * from {@link Float#MIN_NORMAL} to {@link Float#MAX_VALUE}; none by default.
         */
        public Builder clipGradientValue(double maxValue) {
            settings.clipGradientValue = Settings.limit("clipGradientValue", maxValue);
            return this;
        }

        /**
         * Measures each step's norm for {@link org.dl4jamp.MixedPrecision#gradientNorm()}, which is slower than a check
         * for finite gradients. Default false; clipping by norm, and groups of 2 or more, measure it in any case.
         */
        public Builder measureGradientNorm(boolean measured) {
            settings.measuresGradientNorm = measured;
            return this;
        }

        public AmpConfig build() {
            return new AmpConfig(settings.frozen());
        }
    }
}
