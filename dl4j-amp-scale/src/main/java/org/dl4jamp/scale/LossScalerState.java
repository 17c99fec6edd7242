package org.dl4jamp.scale;

import java.io.Serializable;
import java.util.Comparator;
import org.dl4jamp.precision.AmpException;

/**
 * The state of a {@link LossScaler}, as it's written beside a saved model.
 *
 * @param kind which scaler this is of: {@code dynamic}, {@code static} or {@code none}; at most 80 characters
 * @param scale the loss scale
 * @param growthTracker steps without overflow since the scale changed or overflowed last
 * @param hysteresisTracker overflows that are still tolerated before the scale backs off
 */
public record LossScalerState(String kind, double scale, int growthTracker, int hysteresisTracker)
        implements Serializable {
    /** The lowest scale first, of equal ones that which grows last: networks that agree on a scale take the first. */
    public static final Comparator<LossScalerState> LOWEST_FIRST =
            Comparator.comparingDouble(LossScalerState::scale).thenComparingInt(LossScalerState::growthTracker);

    private static final int LONGEST_KIND = 80;

    public LossScalerState {
        AmpException.ifNull(kind, "kind", "the kind of a loss scaler, such as \"" + DynamicLossScaler.KIND + "\"");
        if (kind.length() > LONGEST_KIND) {
            throw new AmpException("kind(\"" + AmpException.quote(kind) + "\"): at most " + LONGEST_KIND
                    + " characters are allowed, so that messages can show it");
        }
    }
}
