package org.dl4jamp.config;

import java.util.Optional;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.scale.LossScaler;
import org.dl4jamp.scale.SharedLossScale;

/**
 * A loss scaler among settings, from which several networks may be enabled.
 *
 * @param scaler the very one that was given
 * @param shared whether all networks use it; if not, each has a copy
 * @param together by what it hears of the steps of all networks at once, if it doesn't hear of each
 */
public record GivenScaler(LossScaler scaler, boolean shared, Optional<SharedLossScale> together) {
    public GivenScaler {
        AmpException.ifNull(
                scaler, "lossScaler", "a LossScaler, or leave the call out to have the precision's default");
    }

    static GivenScaler ofEachNetwork(LossScaler scaler) {
        return new GivenScaler(scaler, false, Optional.empty());
    }

    static GivenScaler ofAll(LossScaler scaler) {
        return new GivenScaler(scaler, true, Optional.empty());
    }

    static GivenScaler ofAll(SharedLossScale scale) {
        return new GivenScaler(scale.scaler(), true, Optional.of(scale));
    }

    /**
     * The scaler of one more network.
     *
     * @throws AmpException if the scaler is to be copied and isn't
     */
    public LossScaler ofNetwork() {
        return shared
                ? scaler
                : AmpException.ifNull(
                        scaler.copy(),
                        "lossScaler(" + scaler + ").copy()",
                        "a LossScaler of the same settings and state");
    }

    /** The builder's method that gives it. */
    String call() {
        if (together.isPresent()) {
            return "sharedLossScale";
        }
        return shared ? "sharedLossScaler" : "lossScaler";
    }

    /** The builder's call that gives it. */
    String describe() {
        return call() + "(" + (together.isPresent() ? together.get() : scaler) + ")";
    }
}
