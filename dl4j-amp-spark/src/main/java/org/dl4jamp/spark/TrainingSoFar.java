package org.dl4jamp.spark;

import java.io.IOException;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.util.List;

/**
 * What a task is given: where training is, and the way for its own report. Spark serializes it again for each job, and it takes along what the driver knows at that moment; what is serialized for a
 * stage that is run again begins where that stage began.
 */
final class TrainingSoFar implements Serializable {
    private static final long serialVersionUID = 1L;

    private final TaskReports reports;
    private List<StageEnd> ends;

    TrainingSoFar(TaskReports reports) {
        this.reports = reports;
    }

    private void writeObject(ObjectOutputStream out) throws IOException {
        Ledger ledger = reports.ledger();
        synchronized (this) {
            if (ledger != null) {
                ends = List.copyOf(ledger.ends());
            }
            out.defaultWriteObject();
        }
    }

    /** What tells the trainings of an application from one another. */
    long id() {
        return reports.id();
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
