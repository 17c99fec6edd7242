package org.dl4jamp.listeners;

import java.io.IOException;
import java.lang.ref.WeakReference;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.bytedeco.javacpp.Pointer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.optimize.solvers.BaseOptimizer;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.ServesOneNetwork;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A training listener that reports {@linkplain StepFigures figures} every few iterations, with or without mixed
 * precision. Between reports it counts and reads the clock, and computes nothing.
 *
 * <p>Training never stops because of a report: one that throws is logged at WARN, once, and none follows.
 *
 * <p>Serves one network at a time, and begins anew with another. Like DL4J's own listeners it is called by one thread.
 * The time between an epoch's end and the next one's begin doesn't count as time of an iteration.
 */
public abstract class FiguresListener extends BaseTrainingListener implements ServesOneNetwork {
    private static final Logger LOG = LoggerFactory.getLogger(FiguresListener.class);

    private final int interval;
    private final LongSupplier nanoTime;
    private WeakReference<Model> served = new WeakReference<>(null);
    private int iterations;
    private int timed;
    private long nanos;
    private long examples;
    private long lastNanos;
    private boolean running;
    private Optional<Exception> failure = Optional.empty();

    /**
     * Reports every {@code interval} iterations.
     *
     * @throws AmpException if the interval is less than 1
     */
    protected FiguresListener(int interval) {
        this(interval, System::nanoTime);
    }

    /** @param nanoTime the clock, as {@link System#nanoTime} */
    FiguresListener(int interval, LongSupplier nanoTime) {
        if (interval < 1) {
            throw new AmpException("interval(" + interval + "): the number of iterations between two reports has to be"
                    + " at least 1, such as 100");
        }
        this.interval = interval;
        this.nanoTime = nanoTime;
    }

    /** Returns the number of iterations between two reports. */
    public final int interval() {
        return interval;
    }

    /** Reports the figures of an iteration. What it throws is logged, and ends the reports. */
    protected abstract void report(StepFigures figures) throws Exception;

    /** Returns whether anyone reads the reports at the moment; if not, no figures are made. */
    protected boolean isRead() {
        return true;
    }

    /**
     * Called between two iterations if the next one is reported. Not called before the first iteration of
     * {@code fit(DataSet)}, of which a listener isn't notified.
     */
    protected void nextIsReported(Model model) throws Exception {}

    /** Reports the end of an epoch; by default nothing. What it throws is logged, and ends the reports. */
    protected void reportEpoch(Model model) throws Exception {}

    /** Returns the network that is served, empty before there is one, and when nothing else holds it. */
    protected final Optional<Model> network() {
        return Optional.ofNullable(served.get());
    }

    /** Returns what has ended the reports, empty if nothing has. */
    public final Optional<Exception> failure() {
        return failure;
    }

    /** Work of a report, which may be code of others: a registry of meters, a file system. */
    protected interface Work {
        void run() throws Exception;
    }

    /** Does work of a report, unless a failure has ended the reports. What it throws is logged, and ends them. */
    protected final void attempt(Work work) {
        if (failure.isPresent()) {
            return;
        }
        try {
            work.run();
        } catch (Exception e) {
            failure = Optional.of(e);
            String where = network()
                    .map(model -> "in iteration " + BaseOptimizer.getIterationCount(model))
                    .orElse("at its end");
            String what = this + " failed " + where + " and reports no more; training goes on";
            if (e instanceof IOException) {
                LOG.warn("{}: {}", what, e.toString());
            } else {
                LOG.warn(what, e);
            }
        }
    }

    private void announceNext(Model model) {
        if (iterations == interval - 1 && isRead()) {
            attempt(() -> nextIsReported(model));
        }
    }

    /** Starts the clock: what came before is no time of an iteration. */
    @Override
    public void onEpochStart(Model model) {
        serve(model);
        announceNext(model);
        lastNanos = nanoTime.getAsLong();
        running = true;
    }

    /** Stops the clock until the next iteration or epoch. */
    @Override
    public void onEpochEnd(Model model) {
        running = false;
        attempt(() -> reportEpoch(model));
    }

    @Override
    public final void iterationDone(Model model, int iteration, int epoch) {
        // DL4J notifies a network's listeners of each layer that it pretrains as if that were the model.
        if (failure.isPresent() || !(model instanceof MultiLayerNetwork || model instanceof ComputationGraph)) {
            return;
        }
        count(model);
        if (iterations >= interval && isRead()) {
            attempt(() -> report(figures(model, iteration, epoch)));
            begin();
            // The time of a report is no time of the next iteration.
            lastNanos = nanoTime.getAsLong();
        }
        announceNext(model);
    }

    private void count(Model model) {
        long now = nanoTime.getAsLong();
        serve(model);
        if (running) {
            nanos += now - lastNanos;
            examples += batchSize(model);
            timed++;
        }
        iterations++;
        lastNanos = now;
        running = true;
    }

    private void serve(Model model) {
        if (model != served.get()) {
            served = new WeakReference<>(model);
            running = false;
            begin();
        }
    }

    private void begin() {
        iterations = 0;
        timed = 0;
        nanos = 0;
        examples = 0;
    }

    private static long batchSize(Model model) {
        INDArray features = null;
        if (model instanceof MultiLayerNetwork network) {
            features = network.getInput();
        } else if (((ComputationGraph) model).getInputs() != null) {
            features = ((ComputationGraph) model).getInput(0);
        }
        return features == null ? 0 : features.size(0);
    }

    private StepFigures figures(Model model, int iteration, int epoch) {
        Optional<MixedPrecision> amp = MixedPrecision.of(model);
        double seconds = (double) nanos / TimeUnit.SECONDS.toNanos(1);
        boolean measured = timed > 0 && seconds > 0;
        return new StepFigures(
                iteration,
                epoch,
                model.score(),
                amp.map(MixedPrecision::lossScale).map(OptionalDouble::of).orElse(OptionalDouble.empty()),
                amp.map(MixedPrecision::stepsTaken).orElse(0L),
                amp.map(MixedPrecision::stepsSkipped).orElse(0L),
                measured ? OptionalDouble.of(seconds / timed) : OptionalDouble.empty(),
                measured ? OptionalDouble.of(examples / seconds) : OptionalDouble.empty(),
                Pointer.physicalBytes());
    }

    /** Returns its class and what it writes to, for messages. */
    @Override
    public String toString() {
        return getClass().getSimpleName();
    }
}
