package org.dl4jamp.checkpoint;

import org.dl4jamp.scale.LossScaler;
import org.dl4jamp.scale.LossScalerState;

/** A loss scaler that isn't dl4j-amp's. */
final class UserWrittenScaler implements LossScaler {
    @Override
    public double scale() {
        return 8;
    }

    @Override
    public void update(boolean overflow) {}

    @Override
    public LossScalerState state() {
        return new LossScalerState("mine", 8, 0, 0);
    }

    @Override
    public void restore(LossScalerState state) {}

    @Override
    public LossScaler copy() {
        return this;
    }
}
