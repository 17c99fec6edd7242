package org.dl4jamp.spark;

import org.dl4jamp.precision.Precision;

/**
 * What one executor did in mixed precision.
 *
 * @param executor Spark's name of it
 * @param host where it runs, or ran
 * @param engine what computes there
 * @param precision what layers in lower precision compute in there
 * @param lossScale by how much its last task scaled the loss in the end
 * @param stepsTaken steps that changed parameters
 * @param stepsSkipped steps that were skipped because something wasn't finite
 * @param tasks how many tasks they were done in
 */
public record ExecutorReport(
        String executor,
        String host,
        String engine,
        Precision precision,
        double lossScale,
        long stepsTaken,
        long stepsSkipped,
        int tasks) {
    static ExecutorReport of(TaskReport task) {
        return new ExecutorReport(
                task.executor(),
                task.host(),
                task.engine(),
                task.precision(),
                task.end().scaler().scale(),
                task.taken(),
                task.skipped(),
                1);
    }

    /** This and what the same executor did later. */
    ExecutorReport then(ExecutorReport later) {
        return new ExecutorReport(
                executor,
                later.host,
                later.engine,
                later.precision,
                later.lossScale,
                stepsTaken + later.stepsTaken,
                stepsSkipped + later.stepsSkipped,
                tasks + later.tasks);
    }
}
