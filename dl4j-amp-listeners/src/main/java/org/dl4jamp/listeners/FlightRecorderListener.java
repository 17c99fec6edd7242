package org.dl4jamp.listeners;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Event;
import jdk.jfr.EventType;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/**
 * Writes the {@linkplain StepFigures figures} of iterations into Java Flight Recorder, beside the events of kernels:
 * event {@code org.dl4jamp.Step}, category dl4j-amp. Makes no figures while nothing records.
 */
public class FlightRecorderListener extends FiguresListener {
    private static final EventType TYPE = EventType.getEventType(Step.class);

    @Name("org.dl4jamp.Step")
    @Label("Training step")
    @Category("dl4j-amp")
    @StackTrace(false)
    static final class Step extends Event {
        @Label("Iteration")
        int iteration;

        @Label("Epoch")
        int epoch;

        @Label("Loss")
        double loss;

        @Label("Loss scale")
        double lossScale;

        @Label("Steps taken")
        long stepsTaken;

        @Label("Steps skipped")
        long stepsSkipped;

        @Label("Seconds per iteration")
        double secondsPerIteration;

        @Label("Memory")
        @DataAmount
        long memoryBytes;
    }

    /** Writes an event every {@code interval} iterations. */
    public FlightRecorderListener(int interval) {
        super(interval);
    }

    @Override
    protected boolean isRead() {
        return TYPE.isEnabled();
    }

    @Override
    protected void report(StepFigures figures) {
        Step step = new Step();
        step.iteration = figures.iteration();
        step.epoch = figures.epoch();
        step.loss = figures.loss();
        step.lossScale = figures.lossScale().orElse(Double.NaN);
        step.stepsTaken = figures.stepsTaken();
        step.stepsSkipped = figures.stepsSkipped();
        step.secondsPerIteration = figures.secondsPerIteration().orElse(Double.NaN);
        step.memoryBytes = figures.memoryBytes();
        step.commit();
    }
}
