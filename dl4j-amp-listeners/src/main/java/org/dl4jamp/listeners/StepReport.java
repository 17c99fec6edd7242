package org.dl4jamp.listeners;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;

/** Says in the log which steps were skipped and how the loss scale moved, without filling it when many are. */
final class StepReport {
    private static final long QUIET_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final Logger log;
    private final LongSupplier nanoTime;
    private long skipped;
    private double scale;
    private long skippedAtLastLine;
    private long lastLineNanos;

    /**
     * @param nanoTime the clock, as {@link System#nanoTime}
     * @param skipped number of skipped steps before the first that will be reported
     * @param scale the loss scale before it
     */
    StepReport(Logger log, LongSupplier nanoTime, long skipped, double scale) {
        this.log = log;
        this.nanoTime = nanoTime;
        this.skipped = skipped;
        this.scale = scale;
        this.skippedAtLastLine = skipped;
        this.lastLineNanos = nanoTime.getAsLong() - QUIET_NANOS;
    }

    void stepDone(int iteration, long skippedNow, double scaleNow) {
        if (skippedNow > skipped) {
            stepSkipped(iteration, skippedNow, scaleNow);
        } else if (scaleNow != scale) {
            log.debug("Loss scale {} -> {} after iteration {}", scale, scaleNow, iteration);
        }
        skipped = skippedNow;
        scale = scaleNow;
    }

    private void stepSkipped(int iteration, long skippedNow, double scaleNow) {
        String what = scaleNow == scale
                ? "its loss, gradients or data were not finite; loss scale still " + scale
                : "its gradients were not finite; loss scale " + scale + " -> " + scaleNow;
        String message = String.format(
                "Iteration %d skipped: %s; %d skipped since the last such line, %d in all",
                iteration, what, skippedNow - skippedAtLastLine, skippedNow);
        long now = nanoTime.getAsLong();
        if (now - lastLineNanos >= QUIET_NANOS) {
            log.info(message);
            lastLineNanos = now;
            skippedAtLastLine = skippedNow;
        } else {
            log.debug(message);
        }
    }
}
