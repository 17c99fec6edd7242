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

    /** Default of {@link Builder#scaleSearch}. */
    public static final int DEFAULT_SCALE_SEARCH = 100;

    private final transient Settings settings;

    private AmpConfig(Settings settings) {
        this.settings = settings;
    }

    /** Returns settings that fit most networks: everything automatic. */
    public static AmpConfig defaults() {
        return builder().build();
    }

    public static Builder builder() {
        return new Builder(new Settings());
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

    /** Returns in how many first steps an overflow lowers the loss scale without skipping the step. */
    public int scaleSearch() {
        return settings.scaleSearch;
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

    /** Returns whether each layer in HALF has a scale of its own, in place of the loss scale. */
    public boolean layerScales() {
        return settings.layerScales;
    }

    /** Returns whether a network changes these settings where HALF's range is too small for it. */
    public boolean selfHealing() {
        return settings.selfHealing;
    }

    /** Returns a builder that begins with these settings. */
    public Builder toBuilder() {
        return new Builder(settings.copy());
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
    public static final class Builder extends GradientSettings<Builder> {
        private Builder(Settings settings) {
            super(settings);
        }

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

        @Override
        Builder self() {
            return this;
        }

        public AmpConfig build() {
            return new AmpConfig(settings.frozen());
        }
    }
}
