package org.dl4jamp.spark;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import org.dl4jamp.checkpoint.AmpState;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The driver's ledger of task reports. A stage that Spark runs again, since an executor and its results were lost,
 * reports again. The later report of the same part of the same stage replaces the earlier one, as its results do. Old
 * stages are summed up, so that the ledger doesn't grow with training.
 */
final class Ledger {
    private static final Logger LOG = LoggerFactory.getLogger(SparkAmp.class);

    /**
     * More than Spark ever runs again of one network: its stages run one after another, and it runs again those of the
     * job in progress.
     */
    private static final int OPEN_STAGES = 8;

    /** Steps of a task of shared gradients that is long enough: learning loses little between two of them. */
    private static final int LONG_TASK = 32;

    private final NavigableMap<Integer, Map<Integer, TaskReport>> open = new TreeMap<>();
    private final Map<String, ExecutorReport> closed = new LinkedHashMap<>();
    private StageEnd closedEnd;
    private AmpState last;
    private TaskReport first;
    private boolean saidThatExecutorsDiffer;
    private boolean saidThatTasksAreShort;

    /**
     * An empty book.
     *
     * @param begin the state in which training begins
     */
    Ledger(StageEnd begin) {
        closedEnd = begin;
    }

    synchronized void take(TaskReport report) {
        open.computeIfAbsent(report.stage(), stage -> new TreeMap<>()).put(report.partition(), report);
        last = report.end();
        compare(report);
        warnIfShort(report);
        while (open.size() > OPEN_STAGES) {
            Map.Entry<Integer, Map<Integer, TaskReport>> oldest = open.pollFirstEntry();
            closedEnd = closedEnd.then(oldest.getKey(), oldest.getValue().values());
            addTo(closed, oldest.getValue());
        }
    }

    private void compare(TaskReport report) {
        if (first == null) {
            first = report;
        }
        if (!saidThatExecutorsDiffer
                && (report.precision() != first.precision() || !report.engine().equals(first.engine()))) {
            saidThatExecutorsDiffer = true;
            LOG.warn(
                    "Executors differ: {}, but {}. Each takes what suits its machine, and DL4J combines what they"
                            + " train. To have them agree, ask for a precision and an engine"
                            + " by name, and give all of them the same jars; SparkAmp.report() shows what each has",
                    describe(first),
                    describe(report));
        }
    }

    private void warnIfShort(TaskReport report) {
        long steps = report.taken() + report.skipped();
        if (saidThatTasksAreShort || !report.livesOn() || steps >= LONG_TASK) {
            return;
        }
        saidThatTasksAreShort = true;
        LOG.warn(
                "Executor {} trained only {} steps in a task. Between tasks DL4J drops the gradients that other"
                        + " executors send, and what was below the threshold: networks learn"
                        + " less, the more so the faster their steps are. Give the SharedTrainingMaster's builder"
                        + " .repartitioner(new EqualRepartitioner()), and each fit more data, such as several epochs",
                report.executor(),
                steps);
    }

    private static String describe(TaskReport report) {
        return "executor " + report.executor() + " on " + report.host() + " trains in " + report.precision()
                + " on engine \"" + report.engine() + "\"";
    }

    /**
     * Returns the ends of the last stages, in their order. A stage begins with the last end before it, also when it's
     * run again and some of its own reports are here.
     */
    synchronized List<StageEnd> ends() {
        List<StageEnd> ends = new ArrayList<>(List.of(closedEnd));
        open.forEach((stage, reports) -> ends.add(ends.get(ends.size() - 1).then(stage, reports.values())));
        return ends;
    }

    synchronized SparkReport report() {
        Map<String, ExecutorReport> executors = new LinkedHashMap<>(closed);
        open.values().forEach(stage -> addTo(executors, stage));
        return new SparkReport(List.copyOf(executors.values()));
    }

    private static void addTo(Map<String, ExecutorReport> executors, Map<Integer, TaskReport> stage) {
        stage.values().forEach(task -> executors.merge(task.executor(), ExecutorReport.of(task), ExecutorReport::then));
    }

    synchronized Optional<AmpState> state() {
        if (last == null) {
            return Optional.empty();
        }
        List<StageEnd> ends = ends();
        StageEnd end = ends.get(ends.size() - 1);
        long skipped = Math.round(end.skipped());
        int consecutive = (int) Math.min(skipped, end.consecutiveSkips().ofAll());
        return Optional.of(new AmpState(
                last.config(),
                end.lowestScaler(),
                Math.round(end.taken()),
                skipped,
                consecutive,
                end.withoutStep(),
                Optional.empty()));
    }
}
