package org.dl4jamp.inspect.speed;

import org.dl4jamp.precision.Precision;

/**
 * The time of a training step in one way to train.
 *
 * @param precision the precision of its layers
 * @param engine the engine that computes them; null for stock DL4J
 * @param automatic whether AUTO takes it
 * @param millis milliseconds for a step, the median of the faster half; null if it wasn't measured
 * @param steps how many steps were measured
 * @param timesFaster stock DL4J's time divided by this one; null if it wasn't measured
 * @param unmeasured why it wasn't measured; null if it was
 */
public record SideSpeed(
        Precision precision,
        String engine,
        boolean automatic,
        Double millis,
        int steps,
        Double timesFaster,
        String unmeasured) {
    static SideSpeed measured(Side side, double seconds, int steps, double stockSeconds) {
        return new SideSpeed(
                side.precision(),
                side.engine().orElse(null),
                side.automatic(),
                1e3 * seconds,
                steps,
                stockSeconds / seconds,
                null);
    }

    static SideSpeed unmeasured(Side side, String reason) {
        return new SideSpeed(side.precision(), side.engine().orElse(null), side.automatic(), null, 0, null, reason);
    }
}
