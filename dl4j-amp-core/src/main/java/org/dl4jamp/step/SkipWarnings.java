package org.dl4jamp.step;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;

/**
 * Warns of skipped steps, and doesn't fill the log when every batch is bad: one line in ten seconds, the others at
 * DEBUG.
 */
final class SkipWarnings {
    private static final long QUIET_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final Logger log;
    private final LongSupplier nanoTime;
    private long lastNanos;
    private int leftOut;

    /** @param nanoTime the clock, as {@link System#nanoTime} */
    SkipWarnings(Logger log, LongSupplier nanoTime) {
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
