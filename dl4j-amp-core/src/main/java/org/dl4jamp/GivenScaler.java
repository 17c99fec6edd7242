package org.dl4jamp;

import org.dl4jamp.scale.LossScaler;

/**
 * A loss scaler among settings, from which several networks may be enabled.
 *
 * @param scaler the very one that was given
 * @param shared whether all networks use it; if not, each has a copy
 */
record GivenScaler(LossScaler scaler, boolean shared) {
    GivenScaler {
        AmpException.ifNull(
                scaler, "lossScaler", "a LossScaler, or leave the call out to have the precision's default");
    }

    /** The scaler of one more network. */
    LossScaler ofNetwork() {
        return shared ? scaler : scaler.copy();
    }

    /** The builder's call that gives it. */
    String describe() {
        return (shared ? "sharedLossScaler(" : "lossScaler(") + scaler + ")";
    }
}
