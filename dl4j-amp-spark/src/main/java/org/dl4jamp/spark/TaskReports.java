package org.dl4jamp.spark;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.util.AccumulatorV2;

/**
 * The way of reports from tasks to the driver: a Spark accumulator, which arrives with a task's result and not without
 * it. In a task it holds that task's report, on the driver the {@link Ledger}.
 */
final class TaskReports extends AccumulatorV2<TaskReport, List<TaskReport>> {
    private static final long serialVersionUID = 1L;

    /** The driver's; null elsewhere. */
    private final transient Ledger ledger;

    /** The driver's; null elsewhere. */
    private final transient DriverWatch watch;

    private final ArrayList<TaskReport> pending = new ArrayList<>();

    TaskReports(Ledger ledger, DriverWatch watch) {
        this.ledger = ledger;
        this.watch = watch;
    }

    @Override
    public synchronized boolean isZero() {
        return pending.isEmpty();
    }

    /** Returns a copy without ledger, which Spark sends to tasks. */
    @Override
    public synchronized TaskReports copy() {
        TaskReports copy = new TaskReports(null, null);
        copy.pending.addAll(pending);
        return copy;
    }

    @Override
    public synchronized void reset() {
        pending.clear();
    }

    @Override
    public synchronized void add(TaskReport report) {
        pending.add(report);
    }

    @Override
    public void merge(AccumulatorV2<TaskReport, List<TaskReport>> other) {
        for (TaskReport report : other.value()) {
            if (ledger == null) {
                add(report);
            } else {
                ledger.take(report);
                watch.reported(report.stage());
            }
        }
    }

    /** Returns what hasn't been merged into the driver's ledger: in a task its report, on the driver nothing. */
    @Override
    public synchronized List<TaskReport> value() {
        return List.copyOf(pending);
    }

    /** Returns the driver's ledger; null in a task. */
    Ledger ledger() {
        return ledger;
    }
}
