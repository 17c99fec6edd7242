package org.dl4jamp.step;

import org.dl4jamp.scale.LossScaler;

/** What a network's loss scaler hears of its steps: of those whose loss was scaled, whether they overflowed. */
final class ScaleUpdates {
    private final LossScaler scaler;
    private boolean paused;
    private boolean scaled;

    ScaleUpdates(LossScaler scaler) {
        this.scaler = scaler;
    }

    LossScaler scaler() {
        return scaler;
    }

    /** Hears that losses aren't scaled from now on, or are again. */
    void pause(boolean begins) {
        paused = begins;
    }

    boolean arePaused() {
        return paused;
    }

    /** Hears of a micro-batch of the step in progress, which may be its only one. */
    void count() {
        scaled |= !paused;
    }

    /** Hears that the micro-batches before this process began were scaled, as far as anybody knows. */
    void restore() {
        scaled = true;
    }

    /** The step in progress was taken. */
    void taken() {
        if (scaled) {
            scaler.update(false);
        }
        scaled = false;
    }

    /** The step in progress was skipped. */
    void skipped(Skip skip) {
        if (scaled && skip.overflow()) {
            scaler.update(true);
        }
        scaled = false;
    }
}
