package org.dl4jamp.config;

import java.util.Optional;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.scale.LossScaler;
import org.dl4jamp.scale.SharedLossScale;

/**
 * A loss scaler among settings, from which several networks may be enabled.
 *
 * @param scaler the scaler that was given; each network has a copy unless there is a shared scale
 * @param shared the scale that all networks share, if they share one
 */
public record ScalerSetting(LossScaler scaler, Optional<SharedLossScale> shared) {
    public ScalerSetting {
        AmpException.ifNull(
                scaler, "lossScaler", "a LossScaler, or leave the call out to have the precision's default");
    }

    static ScalerSetting ofEachNetwork(LossScaler scaler) {
        return new ScalerSetting(scaler, Optional.empty());
    }

    static ScalerSetting ofAll(SharedLossScale scale) {
        AmpException.ifNull(
                scale, "shared", "a SharedLossScale, or leave the call out to have the precision's default");
        return new ScalerSetting(scale.scaler(), Optional.of(scale));
    }

    /**
     * Returns the scaler of one more network.
     *
     * @throws AmpException if the scaler is to be copied and isn't
     */
    public LossScaler ofNetwork() {
        return shared.isPresent()
                ? scaler
                : AmpException.ifNull(
                        scaler.copy(),
                        "lossScaler(" + scaler + ").copy()",
                        "a LossScaler of the same settings and state");
    }

    /** Returns the builder's method that gives it. */
    String call() {
        return shared.isPresent() ? "sharedLossScale" : "lossScaler";
    }

    /** Returns the builder's call that gives it. */
    String describe() {
        return call() + "(" + (shared.isPresent() ? shared.get() : scaler) + ")";
    }
}
