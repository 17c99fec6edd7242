package org.dl4jamp.step;

import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.scale.LossScaler;
import org.dl4jamp.scale.Skip;
import org.slf4j.Logger;

/**
 * Handles skipped steps: updates the scaler, logs them, and throws if there are too many in a row. Skipped updates by
 * hand are no steps: nothing was scaled for them, so the scaler isn't updated, and they are counted for themselves.
 */
final class SkippedSteps {
    private final Logger log;
    private final Warnings warnings;
    private final ScaleUpdates updates;
    private final int maxConsecutiveSkips;
    private int byHandInARow;

    SkippedSteps(Logger log, ScaleUpdates updates, int maxConsecutiveSkips) {
        this.log = log;
        this.warnings = new Warnings(log, System::nanoTime);
        this.updates = updates;
        this.maxConsecutiveSkips = maxConsecutiveSkips;
    }

    /**
     * Handles a skipped step, which is counted already. Throws an {@link AmpException} if too many in a row were
     * skipped.
     */
    void add(Skip skip, StepCounts counts) {
        double scale = updates.scaler().scale();
        updates.end(Optional.of(skip.cause()));
        if (skip.isOverflow()) {
            log.debug(
                    "Step skipped: {}; the loss scale {} {}",
                    skip.what(),
                    updates.areLater() ? "is, until SharedLossScale.update()," : "is now",
                    updates.scaler().scale());
        } else {
            warnings.warn("Step skipped: " + skip.what() + "; the loss scale stays"
                    + (skip.cause() == Skip.Cause.LOSS ? "" : " at " + scale));
        }
        if (counts.consecutiveSkips() >= maxConsecutiveSkips) {
            throw new AmpException(counts.consecutiveSkips() + " steps in a row were skipped (maxConsecutiveSkips("
                    + maxConsecutiveSkips
                    + ")); parameters and updater state are as they were before them. Last: " + skip.what()
                    + skip.first()
                            .map(name -> "; first to go non-finite in the backward pass: " + name)
                            .orElse("")
                    + ". "
                    + remedy(skip, scale));
        }
    }

    /** Ends the row of skipped updates by hand. */
    void takenByHand() {
        byHandInARow = 0;
    }

    /** Handles a skipped update by hand. Throws an {@link AmpException} if too many in a row were skipped. */
    void addByHand(Skip skip) {
        String what = skip.what()
                + skip.first().map(name -> ", first those of " + name).orElse("");
        byHandInARow++;
        log.warn("Update skipped: {}", what);
        if (byHandInARow >= maxConsecutiveSkips) {
            throw new AmpException(byHandInARow + " updates in a row were skipped (maxConsecutiveSkips("
                    + maxConsecutiveSkips + ")): " + what
                    + ". They aren't scaled, so they wouldn't be finite in FP32 either: look at the"
                    + " features, the errors and the learning rate");
        }
    }

    private String remedy(Skip skip, double scale) {
        LossScaler scaler = updates.scaler();
        return switch (skip.cause()) {
            case BATCH -> "Mend the data; neither precision nor layers are to blame";
            case UNSCALED ->
                "They aren't scaled: try a lower learning rate, or with a gradient penalty a smaller radius";
            case OVERFLOW ->
                (scale > 1 && scaler.scale() >= scale && !updates.areLater()
                                ? "The loss scale isn't lowered by " + scaler
                                        + ": give a lower one, or a DynamicLossScaler, which finds its own. "
                                : "")
                        + "Try a lower learning rate, clip gradients, or keep the layers at fault in FP32 with"
                        + " AmpConfig.keepFull(name)";
            case LOSS ->
                "Activations overflowed in the forward pass, or training diverged: normalize the features, lower the"
                        + " learning rate,"
                        + " keep the first layers in FP32 with AmpConfig.keepFull(name), or use BFLOAT16";
        };
    }

    /**
     * Warns of skipped steps, and doesn't fill the log when every batch is bad: one line in ten seconds, the others at
     * DEBUG.
     */
    static final class Warnings {
        private static final long QUIET_NANOS = TimeUnit.SECONDS.toNanos(10);

        private final Logger log;
        private final LongSupplier nanoTime;
        private long lastNanos;
        private int leftOut;

        /** @param nanoTime the clock, as {@link System#nanoTime} */
        Warnings(Logger log, LongSupplier nanoTime) {
            this.log = log;
            this.nanoTime = nanoTime;
            this.lastNanos = nanoTime.getAsLong() - QUIET_NANOS;
        }

        void warn(String message) {
            long now = nanoTime.getAsLong();
            if (now - lastNanos < QUIET_NANOS) {
                leftOut++;
                log.debug(message);
                return;
            }
            log.warn(leftOut == 0 ? message : message + "; " + leftOut + " such warnings were left out before");
            lastNanos = now;
            leftOut = 0;
        }
    }
}
