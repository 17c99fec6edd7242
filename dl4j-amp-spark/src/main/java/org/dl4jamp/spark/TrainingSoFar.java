package org.dl4jamp.spark;

import java.io.IOException;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.util.List;
import org.apache.spark.api.java.JavaSparkContext;

/**
 * What a task is given: where training is, and the way for its own report. Spark serializes it again for each job, and
 * it takes along what the driver knows at that moment; what is serialized for a stage that is run again begins where
 * that stage began.
 */
final class TrainingSoFar implements Serializable {
    private static final long serialVersionUID = 1L;

    private final TaskReports reports;
    private final TaskSettings settings;

    /** The driver's; null in a task. */
    private final transient JavaSparkContext context;

    private List<StageEnd> ends;

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

    /** Returns what tells the trainings of an application from one another. */
    long id() {
        return reports.id();
    }

    /** Returns what tasks train with. */
    TaskSettings settings() {
        return settings;
    }

    /** In a task: the end that its stage begins with. */
    StageEnd before(int stage) {
        return StageEnd.before(stage, ends);
    }

    /** Tells the driver of a task, with its result. */
    void report(TaskReport report) {
        reports.add(report);
    }
}
