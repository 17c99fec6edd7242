package org.dl4jamp.scale;

import org.dl4jamp.precision.AmpException;

/**
 * One loss scale for the whole training: the fixed "scaling factor" of Micikevicius et al. 2018, "Mixed Precision
 * Training", section 3.2. A step that overflows is skipped like with any other scaler, but the scale stays.
 */
public final class StaticLossScaler implements LossScaler {
    /** {@link LossScalerState#kind()} of this scaler. */
    public static final String KIND = "static";

    private final float scale;

    /**
     * Makes a scaler of a fixed scale.
     *
     * @param scale the loss scale, rounded to single precision, which is what gradients are multiplied in
     * @throws AmpException if the scale is not between 2<sup>-126</sup> and the largest float
     */
    public StaticLossScaler(double scale) {
        this.scale = rounded("new StaticLossScaler", scale, "; powers of two such as 1024 lose no precision");
    }

    /**
     * Returns a scale in single precision, in which gradients are multiplied by it and by its reciprocal. That one
     * would be infinite below the smallest normal float.
     */
    static float rounded(String call, double scale, String advice) {
        float rounded = (float) scale;
        if (!(rounded >= Float.MIN_NORMAL && rounded <= Float.MAX_VALUE)) {
            throw new AmpException(call + "(" + scale + "): a scale from " + Float.MIN_NORMAL + " to " + Float.MAX_VALUE
                    + " is needed" + advice);
        }
        return rounded;
    }

    /** Returns the scale that was given, as a float is. */
    @Override
    public double scale() {
        return scale;
    }

    /** Changes nothing. */
    @Override
    public void update(boolean overflow) {}

    @Override
    public LossScalerState state() {
        return new LossScalerState(KIND, scale, 0, 0);
    }

    @Override
    public void restore(LossScalerState state) {
        if (!state().equals(state)) {
            throw new AmpException("restore(" + state + "): " + this + " can only have " + state()
                    + "; make the scaler with the kind and the scale that the state was saved from");
        }
    }

    @Override
    public LossScaler copy() {
        return new StaticLossScaler(scale);
    }

    /** Returns the call that makes it. */
    @Override
    public String toString() {
        return "new StaticLossScaler(" + scale + ")";
    }
}
