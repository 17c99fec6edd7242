package org.dl4jamp.spark;

import org.dl4jamp.precision.Precision;

/**
 * The work of one executor in mixed precision.
 *
 * @param executor Spark's name of it
 * @param host its host
 * @param engine name of its engine
 * @param precision the precision of its layers in lower precision
 * @param lossScale the loss scale at the end of its last task
 * @param stepsTaken steps that changed parameters
 * @param stepsSkipped steps that were skipped because something wasn't finite
 * @param tasks number of tasks that took these steps
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
