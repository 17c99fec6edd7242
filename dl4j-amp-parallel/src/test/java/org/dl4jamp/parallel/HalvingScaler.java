package org.dl4jamp.parallel;

import org.dl4jamp.scale.LossScaler;
import org.dl4jamp.scale.LossScalerState;

/** A scaler of a user's own: half the scale after each overflow. */
final class HalvingScaler implements LossScaler {
    static final String KIND = "halving";

    private double scale;

    HalvingScaler(double scale) {
        this.scale = scale;
    }

    @Override
    public double scale() {
        return scale;
    }

    @Override
    public void update(boolean overflow) {
        scale = overflow ? scale / 2 : scale;
    }

    @Override
    public LossScalerState state() {
        return new LossScalerState(KIND, scale, 0, 0);
    }

    @Override
    public void restore(LossScalerState state) {
        scale = state.scale();
    }

    @Override
    public LossScaler copy() {
        return new HalvingScaler(scale);
    }
}
