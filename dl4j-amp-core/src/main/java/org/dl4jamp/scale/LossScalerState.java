package org.dl4jamp.scale;

/**
 * The state of a {@link LossScaler}, as it's written beside a saved model.
 *
 * @param kind which scaler this is of: {@code dynamic}, {@code static} or {@code none}
 * @param scale the loss scale
 * @param growthTracker steps without overflow since the scale changed or overflowed last
 * @param hysteresisTracker overflows that are still tolerated before the scale backs off
 */
public record LossScalerState(String kind, double scale, int growthTracker, int hysteresisTracker) {}
