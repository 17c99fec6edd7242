package org.dl4jamp.step;

import java.util.Optional;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.scale.LossScaler;
import org.dl4jamp.scale.SharedLossScale;
import org.dl4jamp.scale.Skip;

/**
 * Updates a network's loss scaler with the results of its steps: of those whose loss was scaled, whether they
 * overflowed. It does so at once or, if several networks share the scaler, when the program ends the iteration.
 */
public final class ScaleUpdates {
    private final LossScaler scaler;
    private final SharedLossScale results;
    private final boolean later;
    private boolean paused;
    private boolean scaled;
    private boolean repeating;

    /**
     * @param scaler another than the shared one's in a network whose layers all compute in FP32
     * @param shared the scale that the network shares with others, if it does
     */
    public ScaleUpdates(LossScaler scaler, Optional<SharedLossScale> shared) {
        this.scaler = scaler;
        this.results = shared.orElseGet(() -> new SharedLossScale(scaler));
        this.later = shared.isPresent();
    }

    LossScaler scaler() {
        return scaler;
    }

    /**
     * Returns the factor for the loss of the next step.
     *
     * @throws AmpException if the scaler's is none that gradients can be multiplied by, and by the reciprocal of
     */
    public double factor() {
        double scale = scaler.scale();
        float single = (float) scale;
        if (!(single >= Float.MIN_NORMAL && single <= Float.MAX_VALUE)) {
            throw new AmpException("lossScaler: scale() of " + scaler + " returned " + scale + "; a scale from "
                    + Float.MIN_NORMAL + " to " + Float.MAX_VALUE
                    + " is needed in each step; mend the scaler, or take a DynamicLossScaler");
        }
        return scale;
    }

    boolean areLater() {
        return later;
    }

    /** Sets whether losses aren't scaled from now on. */
    public void pause(boolean begins) {
        paused = begins;
    }

    boolean arePaused() {
        return paused;
    }

    /** Runs a further backward pass of a step's batch, which is scaled as the step's own was. */
    void repeat(Runnable pass) {
        repeating = true;
        try {
            pass.run();
        } finally {
            repeating = false;
        }
    }

    /** Returns whether the backward pass in progress repeats that of a step. */
    public boolean isRepeating() {
        return repeating;
    }

    /**
     * Called when the gradients of a step are computed.
     *
     * @param network its name, for the message
     * @throws AmpException if there mustn't be one now
     */
    void begin(String network) {
        if (later) {
            results.begin(this, network);
        }
    }

    /** Counts a micro-batch of the step in progress, which may be its only one. */
    void count() {
        scaled |= !paused;
    }

    /** Counts the micro-batches before this process began as scaled, since it isn't saved whether they were. */
    void restore() {
        scaled = true;
    }

    /** Ends a step with the cause of its skip, if it was skipped. */
    void end(Optional<Skip.Cause> skip) {
        boolean counts = scaled && results.scaler() == scaler;
        results.end(this, counts ? skip : Optional.of(Skip.Cause.UNSCALED));
        scaled = false;
        if (!later) {
            results.update();
        }
    }
}
