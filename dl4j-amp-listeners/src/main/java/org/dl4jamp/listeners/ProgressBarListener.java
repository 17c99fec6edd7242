package org.dl4jamp.listeners;

import java.util.Locale;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarConsumer;
import org.deeplearning4j.nn.api.Model;

/**
 * Shows a progress bar on the console for each epoch, with loss, loss scale and skipped steps:
 *
 * <pre>
 * Epoch 2  84% [=============     ] 168/200 (0:00:02 / 0:00:00) loss 0.412, scale 32768, 3 skipped
 * </pre>
 *
 * <p>The number of iterations is known from the second epoch on, or from the begin if it's given. Needs the library
 * {@code me.tongfei:progressbar}, which dl4j-amp doesn't bring along.
 */
public class ProgressBarListener extends FiguresListener implements AutoCloseable {
    private final ProgressBarBuilder builder;
    private long total;
    private ProgressBar bar;

    /**
     * Shows the progress every {@code interval} iterations.
     *
     * @throws org.dl4jamp.precision.AmpException if the interval is less than 1
     */
    public ProgressBarListener(int interval) {
        this(interval, -1);
    }

    /**
     * As {@link #ProgressBarListener(int)}, with the number of iterations of an epoch.
     *
     * @param iterations of the first epoch; less than 1 if it isn't known
     */
    public ProgressBarListener(int interval, long iterations) {
        this(interval, iterations, new ProgressBarBuilder());
    }

    /** @param output takes the lines */
    ProgressBarListener(int interval, long iterations, ProgressBarConsumer output) {
        this(interval, iterations, new ProgressBarBuilder().setConsumer(output));
    }

    private ProgressBarListener(int interval, long iterations, ProgressBarBuilder builder) {
        super(interval);
        this.builder = builder;
        this.total = iterations < 1 ? -1 : iterations;
    }

    @Override
    public void onEpochEnd(Model model) {
        super.onEpochEnd(model);
        if (bar != null) {
            total = Math.max(bar.getCurrent(), interval());
            close();
        }
    }

    @Override
    protected void report(StepFigures figures) {
        if (bar == null) {
            bar = builder.setTaskName("Epoch " + figures.epoch())
                    .setInitialMax(total)
                    .build();
        }
        bar.stepBy(interval());
        bar.setExtraMessage(message(figures));
    }

    static String message(StepFigures figures) {
        String loss = String.format(Locale.ROOT, "loss %.4g", figures.loss());
        return figures.lossScale().isEmpty()
                ? loss
                : loss
                        + String.format(
                                Locale.ROOT,
                                ", scale %.6g, %d skipped",
                                figures.lossScale().getAsDouble(),
                                figures.stepsSkipped());
    }

    /** Ends the bar; the next iteration begins another one. */
    @Override
    public void close() {
        if (bar != null) {
            bar.close();
            bar = null;
        }
    }
}
