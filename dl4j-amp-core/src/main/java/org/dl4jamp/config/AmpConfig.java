package org.dl4jamp.config;

import java.io.InvalidObjectException;
import java.io.ObjectInputStream;
import java.io.Serializable;
import java.util.ArrayList;
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
 * AmpConfig.builder()
 *         .precision(Precision.HALF)
 *         .optLevel(OptLevel.O2)
 *         .keepFull("bn_.*")
 *         .lower(DenseLayer.class)
 *         .lossScaler(DynamicLossScaler.builder().initialScale(65536).build())
 *         .build();
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

    private final Precision precision;
    private final OptLevel optLevel;
    private final String engine;
    private final transient List<PrecisionRule> rules;
    private final transient ScalerSetting givenScaler;
    private final int maxConsecutiveSkips;
    private final transient GradientPenalty gradientPenalty;
    private final int microBatches;
    private final PartialGroup partialGroup;
    private final transient OptionalDouble clipGradientNorm;
    private final transient OptionalDouble clipGradientValue;
    private final boolean measuresGradientNorm;

    private AmpConfig(Builder builder) {
        this.precision = builder.precision;
        this.optLevel = builder.optLevel;
        this.engine = builder.engine;
        this.rules = List.copyOf(builder.rules);
        this.givenScaler = builder.givenScaler;
        this.maxConsecutiveSkips = builder.maxConsecutiveSkips;
        this.gradientPenalty = builder.gradientPenalty;
        this.microBatches = builder.microBatches;
        this.partialGroup = builder.partialGroup;
        this.clipGradientNorm = builder.clipGradientNorm;
        this.clipGradientValue = builder.clipGradientValue;
        this.measuresGradientNorm = builder.measuresGradientNorm;
    }

    /** Settings that fit most networks: everything automatic. */
    public static AmpConfig defaults() {
        return builder().build();
    }

    public static Builder builder() {
        return new Builder();
    }

    public Precision precision() {
        return precision;
    }

    public OptLevel optLevel() {
        return optLevel;
    }

    /** Returns the name of the compute engine, or {@code auto}. */
    public String engine() {
        return engine;
    }

    /** Returns the overrides, in the order in which they were given. */
    public List<PrecisionRule> rules() {
        return rules;
    }

    /**
     * Returns the loss scaler that was given. Networks that are enabled with these settings take a
     * {@linkplain LossScaler#copy() copy} of it, unless it's {@linkplain #isLossScalerShared() shared}.
     *
     * @return empty if dl4j-amp is to choose: dynamic with its defaults in HALF, none otherwise
     */
    public Optional<LossScaler> lossScaler() {
        return givenScaler().map(ScalerSetting::scaler);
    }

    public Optional<ScalerSetting> givenScaler() {
        return Optional.ofNullable(givenScaler);
    }

    /** Returns whether networks that are enabled with these settings use the very scaler that was given. */
    public boolean isLossScalerShared() {
        return givenScaler != null && givenScaler.shared().isPresent();
    }

    /** Returns the number of skipped steps in a row after which training stops with an exception. */
    public int maxConsecutiveSkips() {
        return maxConsecutiveSkips;
    }

    /** Returns what is added to the loss for its steepness, if anything. */
    public Optional<GradientPenalty> gradientPenalty() {
        return Optional.ofNullable(gradientPenalty);
    }

    /** Returns how many calls of {@code fit} make one step of the optimizer; 1 if each does. */
    public int accumulate() {
        return microBatches;
    }

    /** Returns what becomes of fewer micro-batches at the end of an epoch. */
    public PartialGroup partialGroup() {
        return partialGroup;
    }

    /** Returns the largest Euclidean norm of a step's gradients over the whole network, if there is a limit. */
    public OptionalDouble clipGradientNorm() {
        return clipGradientNorm;
    }

    /** Returns the largest magnitude of each of a step's gradients, if there is a limit. */
    public OptionalDouble clipGradientValue() {
        return clipGradientValue;
    }

    /** Returns whether each step measures the norm of its gradients where nothing else needs it. */
    public boolean measuresGradientNorm() {
        return measuresGradientNorm;
    }

    /** Returns the calls that make these settings; a scaler is shown with its state. */
    @Override
    public String toString() {
        StringBuilder calls = new StringBuilder("AmpConfig.builder().precision(")
                .append(precision)
                .append(").optLevel(")
                .append(optLevel)
                .append(").engine(\"")
                .append(engine)
                .append("\")");
        rules.forEach(rule -> calls.append('.').append(rule.describe()));
        givenScaler().ifPresent(scaler -> calls.append('.').append(scaler.describe()));
        gradientPenalty()
                .ifPresent(penalty ->
                        calls.append(".gradientPenalty(").append(penalty).append(')'));
        if (microBatches > 1) {
            calls.append(".accumulate(")
                    .append(microBatches)
                    .append(", PartialGroup.")
                    .append(partialGroup)
                    .append(')');
        }
        clipGradientNorm.ifPresent(
                norm -> calls.append(".clipGradientNorm(").append(norm).append(')'));
        clipGradientValue.ifPresent(
                value -> calls.append(".clipGradientValue(").append(value).append(')'));
        if (measuresGradientNorm) {
            calls.append(".measureGradientNorm(true)");
        }
        return calls.append(".maxConsecutiveSkips(")
                .append(maxConsecutiveSkips)
                .append(").build()")
                .toString();
    }

    /**
     * Returns the settings among these that count in {@link org.dl4jamp.MixedPrecision#inference}, which refuses a loss scaler
     * and a gradient penalty: precision, preset, engine and rules.
     */
    public AmpConfig forInference() {
        Builder copy = builder().precision(precision).optLevel(optLevel).engine(engine);
        copy.rules.addAll(rules);
        return copy.build();
    }

    private Object writeReplace() {
        return SerializedConfig.of(this);
    }

    private void readObject(ObjectInputStream in) throws InvalidObjectException {
        throw new InvalidObjectException(
                "an AmpConfig is written as a SerializedConfig, and this stream holds another");
    }

    /**
     * Builds {@link AmpConfig}. Each method returns the builder.
     *
     * <p>Of the rules that match a layer the most specific wins: by name before by class, by class before by
     * superclass, by class before by predicate. Of two that are as specific the later one wins.
     */
    public static final class Builder {
        private Precision precision = Precision.AUTO;
        private OptLevel optLevel = OptLevel.O1;
        private String engine = AUTO_ENGINE;
        private final List<PrecisionRule> rules = new ArrayList<>();
        private ScalerSetting givenScaler;
        private int maxConsecutiveSkips = DEFAULT_MAX_CONSECUTIVE_SKIPS;
        private GradientPenalty gradientPenalty;
        private int microBatches = 1;
        private PartialGroup partialGroup = PartialGroup.APPLY;
        private OptionalDouble clipGradientNorm = OptionalDouble.empty();
        private OptionalDouble clipGradientValue = OptionalDouble.empty();
        private boolean measuresGradientNorm;

        private static final String LAYER_CLASS = "a class of layer configurations, such as DenseLayer.class";
        private static final String PREDICATE = "a predicate of layer configurations";

        private Builder() {}

        /** Sets the precision of the layers in lower precision; default {@link Precision#AUTO}. */
        public Builder precision(Precision precision) {
            this.precision = AmpException.ifNull(precision, "precision", "AUTO, HALF, BFLOAT16 or FLOAT");
            return this;
        }

        /** Sets the preset of the policy; default {@link OptLevel#O1}. */
        public Builder optLevel(OptLevel optLevel) {
            this.optLevel = AmpException.ifNull(optLevel, "optLevel", "O0, O1, O2 or O3");
            return this;
        }

        /**
         * Sets the engine's name, such as {@code nd4j}; default {@code auto}. It's looked up when a network is enabled.
         */
        public Builder engine(String engine) {
            if (engine == null || engine.isBlank()) {
                throw new AmpException(
                        "engine(\"" + engine + "\"): a name is needed, \"auto\" or that of an engine such as \"nd4j\"");
            }
            this.engine = engine;
            return this;
        }

        /** Keeps layers in FP32 whose whole name matches a regular expression. */
        public Builder keepFull(String nameRegex) {
            rules.add(PrecisionRule.ByName.of(LayerKind.FULL, nameRegex));
            return this;
        }

        /** Keeps layers of a configuration class, and of its subclasses, in FP32. */
        public Builder keepFull(Class<? extends Layer> layerClass) {
            rules.add(new PrecisionRule.ByClass(
                    LayerKind.FULL, AmpException.ifNull(layerClass, "layerClass", LAYER_CLASS)));
            return this;
        }

        /** Keeps layers in FP32 whose configuration satisfies a predicate. */
        public Builder keepFull(Predicate<? super Layer> predicate) {
            rules.add(new PrecisionRule.ByPredicate(
                    LayerKind.FULL, AmpException.ifNull(predicate, "predicate", PREDICATE)));
            return this;
        }

        /** Runs layers in lower precision whose whole name matches a regular expression. */
        public Builder lower(String nameRegex) {
            rules.add(PrecisionRule.ByName.of(LayerKind.LOWER, nameRegex));
            return this;
        }

        /** Runs layers of a configuration class, and of its subclasses, in lower precision. */
        public Builder lower(Class<? extends Layer> layerClass) {
            rules.add(new PrecisionRule.ByClass(
                    LayerKind.LOWER, AmpException.ifNull(layerClass, "layerClass", LAYER_CLASS)));
            return this;
        }

        /** Runs layers in lower precision whose configuration satisfies a predicate. */
        public Builder lower(Predicate<? super Layer> predicate) {
            rules.add(new PrecisionRule.ByPredicate(
                    LayerKind.LOWER, AmpException.ifNull(predicate, "predicate", PREDICATE)));
            return this;
        }

        /**
         * Sets the loss scaler; by default dynamic in HALF and none in other precisions. Each network takes a
         * {@linkplain LossScaler#copy() copy}, in the state of the moment when it's enabled. {@link #sharedLossScale}
         * beside it is refused.
         */
        public Builder lossScaler(LossScaler lossScaler) {
            return scaler(ScalerSetting.ofEachNetwork(lossScaler));
        }

        /**
         * Sets one loss scale for several networks that are trained together, such as a GAN's; the program calls
         * {@link SharedLossScale#update()} once per iteration. Enabling it for a network with truncated backpropagation
         * through time, which makes a step of each segment, throws an {@link AmpException}. A network that is saved
         * with these settings has a scaler of its own when it's restored.
         */
        public Builder sharedLossScale(SharedLossScale shared) {
            return scaler(ScalerSetting.ofAll(AmpException.ifNull(
                    shared, "shared", "a SharedLossScale, or leave the call out to have the precision's default")));
        }

        private Builder scaler(ScalerSetting given) {
            if (givenScaler != null && !givenScaler.call().equals(given.call())) {
                throw new AmpException(given.describe() + ": these settings have " + givenScaler.describe()
                        + " already, and a network has one loss scaler; leave one of the two calls out");
            }
            this.givenScaler = given;
            return this;
        }

        /**
         * Sets how many skipped steps in a row end training, with an exception that names the source of the non-finite
         * gradients; default {@value #DEFAULT_MAX_CONSECUTIVE_SKIPS}.
         */
        public Builder maxConsecutiveSkips(int maxConsecutiveSkips) {
            if (maxConsecutiveSkips < 1) {
                throw new AmpException("maxConsecutiveSkips(" + maxConsecutiveSkips
                        + "): at least 1 is needed, so that endless skipping ends in a message");
            }
            this.maxConsecutiveSkips = maxConsecutiveSkips;
            return this;
        }

        /**
         * Adds a penalty on the norm of the gradient to the loss; none by default. Enabling it for a network with
         * truncated backpropagation through time throws an {@link AmpException}.
         */
        public Builder gradientPenalty(GradientPenalty gradientPenalty) {
            this.gradientPenalty = AmpException.ifNull(
                    gradientPenalty, "gradientPenalty", "a GradientPenalty, or leave the call out to have none");
            return this;
        }

        /** As {@link #accumulate(int, PartialGroup)}, with {@link PartialGroup#APPLY}. */
        public Builder accumulate(int microBatches) {
            return accumulate(microBatches, PartialGroup.APPLY);
        }

        /**
         * Makes one step of the optimizer of several calls of {@code fit}, for batches that don't fit into memory:
         * gradients are added up in FP32, in one more array of the parameters' size. Minibatch division, gradient
         * normalization, clipping, L1, L2 and weight decay, updaters and schedules by iteration see one batch of all
         * their examples. The loss scale stays constant meanwhile, and one micro-batch that isn't finite skips them
         * all. Batch normalization computes statistics of each micro-batch, and moves its running statistics with each.
         *
         * <p>In truncated backpropagation through time each segment is a micro-batch. Gradients that a program
         * computes, or updates by hand, aren't part of it.
         *
         * @param microBatches how many make a step, at least 1; default 1
         * @param partialGroup what becomes of fewer at the end of an epoch; without epochs, as in {@code fit(DataSet)},
         *     there is {@link org.dl4jamp.MixedPrecision#applyPartialGroup()}
         */
        public Builder accumulate(int microBatches, PartialGroup partialGroup) {
            if (microBatches < 1) {
                throw new AmpException("accumulate(" + microBatches
                        + "): at least 1 is needed; with 1 each call of fit is a step of its own");
            }
            this.partialGroup = AmpException.ifNull(partialGroup, "partialGroup", "APPLY or CARRY_OVER");
            this.microBatches = microBatches;
            return this;
        }

        /**
         * Limits the Euclidean norm of a step's gradients over the whole network, as PyTorch's {@code clip_grad_norm_}:
         * a larger norm scales all of them by one factor. They are the true FP32 gradients, means over the effective
         * batch; DL4J's gradient normalization, L1 and L2 come after. Running statistics of batch normalization aren't
         * gradients.
         *
         * @param maxNorm from {@link Float#MIN_NORMAL} to {@link Float#MAX_VALUE}; none by default
         */
        public Builder clipGradientNorm(double maxNorm) {
            this.clipGradientNorm = OptionalDouble.of(limit("clipGradientNorm", maxNorm));
            return this;
        }

        /**
         * Limits the magnitude of each of a step's gradients, after their norm, as PyTorch's {@code clip_grad_value_}.
         *
         * @param maxValue from {@link Float#MIN_NORMAL} to {@link Float#MAX_VALUE}; none by default
         */
        public Builder clipGradientValue(double maxValue) {
            this.clipGradientValue = OptionalDouble.of(limit("clipGradientValue", maxValue));
            return this;
        }

        /**
         * Measures the norm of each step's gradients for {@link org.dl4jamp.MixedPrecision#gradientNorm()}, which is
         * slower than a check whether they're finite. Default false; {@link #clipGradientNorm} and
         * {@link #accumulate(int)} of 2 or more measure it in any case.
         */
        public Builder measureGradientNorm(boolean measured) {
            this.measuresGradientNorm = measured;
            return this;
        }

        private static double limit(String name, double limit) {
            if (!(limit >= Float.MIN_NORMAL && limit <= Float.MAX_VALUE)) {
                throw new AmpException(name + "(" + limit + "): a number from " + Float.MIN_NORMAL + " to "
                        + Float.MAX_VALUE + " is needed, the range of FP32; leave the call out to have no limit");
            }
            return limit;
        }

        public AmpConfig build() {
            return new AmpConfig(this);
        }
    }
}
