package org.dl4jamp.listeners;

import java.util.Locale;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs the loss scale and the counts of steps at INFO:
 *
 * <pre>
 * Iteration 200: loss scale 32768.0, 197 steps taken, 3 skipped (1.5 %)
 * </pre>
 */
public class LossScaleListener extends FiguresListener {
    private final Logger log;

    /** Logs a line every {@code interval} iterations. */
    public LossScaleListener(int interval) {
        this(interval, LoggerFactory.getLogger(LossScaleListener.class));
    }

    LossScaleListener(int interval, Logger log) {
        super(interval);
        this.log = log;
    }

    @Override
    protected void report(StepFigures figures) {
        log.info(line(figures));
    }

    static String line(StepFigures figures) {
        if (figures.lossScale().isEmpty()) {
            return "Iteration " + figures.iteration() + ": not in mixed precision, so no loss scale";
        }
        long steps = figures.stepsTaken() + figures.stepsSkipped();
        return String.format(
                Locale.ROOT,
                "Iteration %d: loss scale %s, %d steps taken, %d skipped (%.1f %%)",
                figures.iteration(),
                figures.lossScale().getAsDouble(),
                figures.stepsTaken(),
                figures.stepsSkipped(),
                steps == 0 ? 0 : 100.0 * figures.stepsSkipped() / steps);
    }
}
