package org.dl4jamp.spark;

import java.io.IOException;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.util.List;
import org.apache.spark.api.java.JavaSparkContext;

/**
 * The input of a task: the state of training, and the accumulator for its report. Spark serializes it again for each
 * job, with the driver's state of that moment. For a stage that is run again it's the state in which that stage began.
 */
final class TrainingSoFar implements Serializable {
    private static final long serialVersionUID = 1L;

    private final TaskReports reports;
    private final TaskSettings settings;

    /** The driver's; null in a task. */
    private final transient JavaSparkContext context;

    private List<StageEnd> ends = List.of();

    TrainingSoFar(TaskReports reports, TaskSettings settings, JavaSparkContext context) {
        this.reports = reports;
        this.settings = settings;
        this.context = context;
    }

    private void writeObject(ObjectOutputStream out) throws IOException {
        if (context != null) {
            // Stages of another context begin at number 0 again.
            SparkAmp.requireRunning(context);
        }
        Ledger ledger = reports.ledger();
        synchronized (this) {
            if (ledger != null) {
                ends = List.copyOf(ledger.ends());
            }
            out.defaultWriteObject();
        }
    }

    /** Returns the identity of this training among those of an application. */
    long id() {
        return reports.id();
    }

    /** Returns what tasks train with. */
    TaskSettings settings() {
        return settings;
    }

    /** Returns, in a task, the end that its stage begins with. */
    StageEnd before(int stage) {
        return StageEnd.before(stage, ends);
    }

    /** Reports a task to the driver, with its result. */
    void report(TaskReport report) {
        reports.add(report);
    }
}
