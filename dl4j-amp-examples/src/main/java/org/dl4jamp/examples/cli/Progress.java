package org.dl4jamp.examples.cli;

import me.tongfei.progressbar.ConsoleProgressBarConsumer;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;

/** Shows on standard error how far a training is: as a bar on a terminal, otherwise as one line per quarter. */
public final class Progress implements AutoCloseable {
    /** System property that the launcher sets to true when standard error is a terminal. */
    static final String TERMINAL_PROPERTY = "amp.terminal";

    private static final int WIDTH = 90;
    private static final int LINES = 4;

    private final String task;
    private final int steps;
    private final ProgressBar bar;
    private int done;

    private Progress(String task, int steps, ProgressBar bar) {
        this.task = task;
        this.steps = steps;
        this.bar = bar;
    }

    /**
     * Starts.
     *
     * @param task its name, in a word or two
     * @param steps number of calls of {@link #step}
     */
    public static Progress of(String task, int steps) {
        return new Progress(task, steps, Boolean.getBoolean(TERMINAL_PROPERTY) ? bar(task, steps) : null);
    }

    private static ProgressBar bar(String task, int steps) {
        return new ProgressBarBuilder()
                .setTaskName(task)
                .setInitialMax(steps)
                .setStyle(ProgressBarStyle.ASCII)
                .setUpdateIntervalMillis(200)
                .setConsumer(new ConsoleProgressBarConsumer(System.err, WIDTH))
                .build();
    }

    /** Counts one more step. */
    public void step() {
        done++;
        if (bar != null) {
            bar.step();
        } else if (done * LINES / steps > (done - 1) * LINES / steps) {
            System.err.printf("%s: %d of %d%n", task, done, steps);
        }
    }

    @Override
    public void close() {
        if (bar != null) {
            bar.close();
        }
    }
}
