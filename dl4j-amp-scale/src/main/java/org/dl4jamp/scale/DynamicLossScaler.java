package org.dl4jamp.scale;

import org.dl4jamp.precision.AmpException;

/**
 * Finds the loss scale while training: large enough that small gradients survive half precision, and smaller as soon as
 * they overflow.
 *
 * <pre>
 * scale, tracker, tolerated = initialScale, 0, hysteresis
 * update(overflow):
 *     if overflow:
 *         tracker = 0
 *         tolerated = max(tolerated - 1, 0)
 *         if tolerated == 0: scale = max(float(scale * backoffFactor), minScale)
 *     else if ++tracker == growthInterval:
 *         tracker, tolerated = 0, hysteresis
 *         grown = float(scale * growthFactor)
 *         if grown &lt;= maxScale: scale = grown
 * </pre>
 *
 * <p>The method is that of Micikevicius et al. 2018, "Mixed Precision Training". Names, defaults and arithmetic are
 * those of PyTorch's {@code torch.amp.GradScaler}: the scale is a float, the factors are doubles. As long as the scale
 * stays inside its range it follows {@code GradScaler} bit for bit. PyTorch's only limit is infinity, which growth does
 * not pass; here growth does not pass {@code maxScale}, and a scale that backs off below {@code minScale} becomes
 * {@code minScale}, as in Megatron-LM.
 *
 * <p>A hysteresis of N lets the scale survive overflows of single batches, as in Megatron-LM's
 * {@code DynamicGradScaler}. After a growth interval without overflow, N - 1 overflows only restart the interval, and
 * every further one backs off. One is PyTorch's behaviour.
 *
 * <p>The scale is never zero, infinite or NaN. Not thread-safe.
 */
public final class DynamicLossScaler implements LossScaler {
    /** {@link LossScalerState#kind()} of this scaler. */
    public static final String KIND = "dynamic";

    /** A copy of its own, which never changes. */
    private final Builder settings;

    private LossScalerState state;

    private DynamicLossScaler(Builder settings) {
        this.settings = settings;
        this.state = new LossScalerState(KIND, settings.initialScale, 0, settings.hysteresis);
    }

    /** Returns a builder with PyTorch's defaults and a range from 2<sup>-14</sup> to 2<sup>24</sup>. */
    public static Builder builder() {
        return new Builder();
    }

    @Override
    public double scale() {
        return state.scale();
    }

    @Override
    public void update(boolean overflow) {
        if (overflow) {
            int tolerated = Math.max(state.hysteresisTracker() - 1, 0);
            float lower = Math.max((float) (scale() * settings.backoffFactor), settings.minScale);
            state = new LossScalerState(KIND, tolerated == 0 ? lower : scale(), 0, tolerated);
        } else if (state.growthTracker() + 1 < settings.growthInterval) {
            state = new LossScalerState(KIND, scale(), state.growthTracker() + 1, state.hysteresisTracker());
        } else {
            float grown = (float) (scale() * settings.growthFactor);
            state = new LossScalerState(KIND, grown <= settings.maxScale ? grown : scale(), 0, settings.hysteresis);
        }
    }

    @Override
    public LossScalerState state() {
        return state;
    }

    @Override
    public void restore(LossScalerState state) {
        if (state == null || !KIND.equals(state.kind())) {
            throw new AmpException("restore(" + state + "): the state of a scaler of kind \"" + KIND
                    + "\" is needed; use the kind of scaler that the state was saved from");
        }
        double scale = state.scale();
        requireWithin(
                state,
                "scale a float",
                scale == (float) scale ? scale : Double.NaN,
                settings.minScale,
                settings.maxScale);
        requireWithin(state, "growthTracker", state.growthTracker(), 0, settings.growthInterval - 1);
        requireWithin(state, "hysteresisTracker", state.hysteresisTracker(), 0, settings.hysteresis);
        this.state = state;
    }

    private void requireWithin(LossScalerState state, String what, Number value, Number least, Number most) {
        if (!(value.doubleValue() >= least.doubleValue() && value.doubleValue() <= most.doubleValue())) {
            throw new AmpException("restore(" + state + "): " + what + " from " + least + " to " + most + " is what "
                    + this + " allows; build the scaler with the settings that the state was saved with");
        }
    }

    @Override
    public LossScaler copy() {
        DynamicLossScaler copy = new DynamicLossScaler(settings);
        copy.state = state;
        return copy;
    }

    /** Returns the scale before the first step. */
    public double initialScale() {
        return settings.initialScale;
    }

    /** Returns what the scale is multiplied by after {@link #growthInterval()} steps without overflow. */
    public double growthFactor() {
        return settings.growthFactor;
    }

    /** Returns what the scale is multiplied by after an overflow. */
    public double backoffFactor() {
        return settings.backoffFactor;
    }

    /** Returns the number of steps in a row without overflow after which the scale grows. */
    public int growthInterval() {
        return settings.growthInterval;
    }

    /** Returns the smallest scale. */
    public double minScale() {
        return settings.minScale;
    }

    /** Returns the largest scale. */
    public double maxScale() {
        return settings.maxScale;
    }

    /** Returns how many overflows it takes, since the last growth interval without any, until the scale backs off. */
    public int hysteresis() {
        return settings.hysteresis;
    }

    /** Returns the call that makes it; the state is not part of it. */
    @Override
    public String toString() {
        return "DynamicLossScaler.builder().initialScale(" + settings.initialScale + ")"
                + ".growthFactor(" + settings.growthFactor + ")"
                + ".backoffFactor(" + settings.backoffFactor + ")"
                + ".growthInterval(" + settings.growthInterval + ")"
                + ".minScale(" + settings.minScale + ")"
                + ".maxScale(" + settings.maxScale + ")"
                + ".hysteresis(" + settings.hysteresis + ").build()";
    }

    /**
     * Builds {@link DynamicLossScaler}. Each method returns the builder and throws {@link AmpException} for a value out
     * of range. Scales are rounded to single precision.
     */
    public static final class Builder {
        private float initialScale = 65536;
        private double growthFactor = 2.0;
        private double backoffFactor = 0.5;
        private int growthInterval = 2000;
        private float minScale = 0x1p-14f;
        private float maxScale = 0x1p24f;
        private int hysteresis = 1;

        private Builder() {}

        private Builder(Builder other) {
            initialScale = other.initialScale;
            growthFactor = other.growthFactor;
            backoffFactor = other.backoffFactor;
            growthInterval = other.growthInterval;
            minScale = other.minScale;
            maxScale = other.maxScale;
            hysteresis = other.hysteresis;
        }

        /**
         * Sets the scale before the first step; default 65536. Has to lie between {@link #minScale} and
         * {@link #maxScale}.
         */
        public Builder initialScale(double initialScale) {
            this.initialScale = requireScale("initialScale", initialScale);
            return this;
        }

        /**
         * Sets what the scale is multiplied by after {@link #growthInterval} steps in a row without overflow; default
         * 2.
         */
        public Builder growthFactor(double growthFactor) {
            require(
                    growthFactor > 1 && growthFactor < Double.POSITIVE_INFINITY,
                    "growthFactor",
                    growthFactor,
                    "a finite number above 1 is needed, such as 2, so that the scale can recover from overflows");
            this.growthFactor = growthFactor;
            return this;
        }

        /** Sets what the scale is multiplied by after an overflow; default 0.5. */
        public Builder backoffFactor(double backoffFactor) {
            require(
                    backoffFactor > 0 && backoffFactor < 1,
                    "backoffFactor",
                    backoffFactor,
                    "a number above 0 and below 1 is needed, such as 0.5, so that overflows end");
            this.backoffFactor = backoffFactor;
            return this;
        }

        /** Sets after how many steps in a row without overflow the scale grows; default 2000. */
        public Builder growthInterval(int growthInterval) {
            require(growthInterval >= 1, "growthInterval", growthInterval, "at least 1 step is needed, such as 2000");
            this.growthInterval = growthInterval;
            return this;
        }

        /** Sets the smallest scale; default 2<sup>-14</sup>. */
        public Builder minScale(double minScale) {
            this.minScale = requireScale("minScale", minScale);
            return this;
        }

        /** Sets the largest scale; default 2<sup>24</sup>. */
        public Builder maxScale(double maxScale) {
            this.maxScale = requireScale("maxScale", maxScale);
            return this;
        }

        /**
         * Sets how many overflows it takes until the scale backs off; default 1, as in PyTorch. Megatron-LM's default
         * is 2.
         */
        public Builder hysteresis(int hysteresis) {
            require(hysteresis >= 1, "hysteresis", hysteresis, "at least 1 overflow is needed; 1 backs off at each");
            this.hysteresis = hysteresis;
            return this;
        }

        /**
         * Builds the scaler.
         *
         * @throws AmpException if the range is empty or the initial scale lies outside of it
         */
        public DynamicLossScaler build() {
            require(
                    minScale <= maxScale,
                    "minScale",
                    minScale,
                    "at most maxScale(" + maxScale + ") is allowed; lower minScale or raise maxScale");
            require(
                    initialScale >= minScale && initialScale <= maxScale,
                    "initialScale",
                    initialScale,
                    "a scale from minScale(" + minScale + ") to maxScale(" + maxScale
                            + ") is needed; move it or widen the range");
            return new DynamicLossScaler(new Builder(this));
        }

        private static float requireScale(String argument, double value) {
            return StaticLossScaler.rounded(argument, value, ", such as a power of two");
        }

        private static void require(boolean holds, String argument, Object value, String allowed) {
            if (!holds) {
                throw new AmpException(argument + "(" + value + "): " + allowed);
            }
        }
    }
}
