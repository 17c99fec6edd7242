package org.dl4jamp.ui;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.deeplearning4j.core.storage.StatsStorageRouter;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.solvers.BaseOptimizer;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.listeners.LayerWatch;
import org.dl4jamp.listeners.SkipReport;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.scale.Skip;
import org.dl4jamp.ui.record.Content;
import org.dl4jamp.ui.record.PlanContent;
import org.dl4jamp.ui.record.SkipContent;
import org.dl4jamp.ui.record.StepContent;
import org.dl4jamp.ui.record.StoredRecord;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The reports of one listener, and what they are made of. */
final class Reports {
    private static final Logger LOG = LoggerFactory.getLogger(MixedPrecisionStatsListener.class);

    /** Arrays in the report of a skipped step, before the first that isn't finite. */
    private static final int LAYERS_BEFORE = 5;

    /**
     * Number of reports after which the plan is reported again. DL4J's remote router drops what it can't deliver, and
     * without a plan storages don't list a worker.
     */
    private static final int PLAN_INTERVAL = 20;

    /** Iterations without mixed precision before it is said. A first one is normal: an AmpListener begins after it. */
    private static final int PATIENCE = 2;

    /** Storages keep one record of a worker at each millisecond, so no two of this JVM are of the same. */
    private static final AtomicLong LAST_TIME = new AtomicLong();

    private final MixedPrecisionStatsListener listener;
    private LayerWatch watch;
    private PrecisionPlan reportedPlan;
    private int sincePlan;
    private boolean reported;
    private int without;
    private boolean failed;

    Reports(MixedPrecisionStatsListener listener) {
        this.listener = listener;
    }

    /** Begins to look at the layers of the iteration in progress, or of the next one, if it's reported. */
    void begin(Model model) {
        begin(model, BaseOptimizer.getIterationCount(model));
    }

    private void begin(Model model, int iteration) {
        if (watch == null && !failed && isReported(iteration)) {
            MixedPrecision.of(model).ifPresent(amp -> watch = LayerWatch.begin(model, amp));
        }
    }

    private boolean isReported(int iteration) {
        return !reported || iteration % listener.interval() == 0;
    }

    void iterationDone(Model model, int iteration, int epoch) {
        Optional<LayerWatch> ended = Optional.ofNullable(watch);
        ended.ifPresent(LayerWatch::close);
        watch = null;
        if (isReported(iteration)) {
            guarded(() -> report(model, iteration, epoch, ended));
        }
        begin(model, iteration + 1);
    }

    private void report(Model model, int iteration, int epoch, Optional<LayerWatch> ended) {
        Optional<MixedPrecision> present = MixedPrecision.of(model);
        if (present.isEmpty()) {
            if (++without == PATIENCE) {
                LOG.warn(
                        "{}: the network isn't in mixed precision, so there is nothing to report. Add an AmpListener"
                                + " before it, or call MixedPrecision.enable",
                        listener);
            }
            return;
        }
        MixedPrecision amp = present.get();
        reportPlan(model, amp);
        put(new StepContent(
                iteration,
                epoch,
                model.score(),
                amp.lossScale(),
                amp.stepsTaken(),
                amp.stepsSkipped(),
                ended.map(Reports::layers).orElse(List.of())));
        reported = true;
    }

    private static List<StepContent.Layer> layers(LayerWatch watch) {
        return watch.layers().stream()
                .map(layer -> new StepContent.Layer(
                        layer.layer(), layer.output(), layer.gradient(), watch.scale(layer.layer())))
                .toList();
    }

    private void reportPlan(Model model, MixedPrecision amp) {
        PrecisionPlan plan = amp.plan();
        if (plan.equals(reportedPlan) && ++sincePlan < PLAN_INTERVAL) {
            return;
        }
        PlanContent content = new PlanContent(
                model.getClass().getSimpleName() + ", " + model.numParams() + " parameters",
                amp.engine(),
                amp.lossScaler().toString(),
                amp.config().layerScales(),
                plan);
        router().putStaticInfo(record(content));
        reportedPlan = plan;
        sincePlan = 0;
    }

    /** Reports a skipped step at once: the exception after too many of them leaves no later report. */
    void skipped(Model model, MixedPrecision amp, Skip skip, int iteration) {
        guarded(() -> {
            reportPlan(model, amp);
            put(new SkipContent(SkipReport.of(model, amp, skip, iteration, LAYERS_BEFORE)));
        });
    }

    private void put(Content content) {
        router().putUpdate(record(content));
    }

    private StoredRecord record(Content content) {
        long time = LAST_TIME.updateAndGet(last -> Math.max(last + 1, System.currentTimeMillis()));
        return new StoredRecord(listener.getSessionID(), listener.getWorkerID(), time, content);
    }

    private StatsStorageRouter router() {
        StatsStorageRouter router = listener.getStorageRouter();
        if (router == null) {
            throw new IllegalStateException("it has no StatsStorageRouter; give it one, or call"
                    + " setListeners(router, listeners) of ParallelWrapper or Spark");
        }
        return router;
    }

    private void guarded(Runnable work) {
        if (failed) {
            return;
        }
        // A router is code of others. MapDB, which keeps statistics in files, throws errors once it's closed.
        try {
            work.run();
        } catch (RuntimeException | LinkageError | AssertionError e) {
            failed = true;
            LOG.warn("{} failed and reports no more; training goes on", listener, e);
        }
    }
}
