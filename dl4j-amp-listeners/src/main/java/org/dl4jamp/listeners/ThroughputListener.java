package org.dl4jamp.listeners;

import java.util.Locale;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs the speed of training and the memory of the process at INFO:
 *
 * <pre>
 * Iteration 200: 12.35 ms per iteration, 5183 examples per second, 1204 MB of memory
 * </pre>
 *
 * The time of an iteration contains reading its batch and other listeners.
 */
public class ThroughputListener extends FiguresListener {
    private static final int MB = 1 << 20;

    private final Logger log;

    /** Logs a line every {@code interval} iterations. */
    public ThroughputListener(int interval) {
        this(interval, LoggerFactory.getLogger(ThroughputListener.class));
    }

    ThroughputListener(int interval, Logger log) {
        super(interval);
        this.log = log;
    }

    @Override
    protected void report(StepFigures figures) {
        log.info(line(figures));
    }

    static String line(StepFigures figures) {
        String speed = figures.secondsPerIteration().isEmpty()
                ? "no iteration timed yet"
                : String.format(
                        Locale.ROOT,
                        "%.2f ms per iteration, %.0f examples per second",
                        1000 * figures.secondsPerIteration().getAsDouble(),
                        figures.examplesPerSecond().orElse(0));
        return "Iteration " + figures.iteration() + ": " + speed + ", " + figures.memoryBytes() / MB + " MB of memory";
    }
}
