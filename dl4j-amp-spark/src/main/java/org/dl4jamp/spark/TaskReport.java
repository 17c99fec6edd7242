package org.dl4jamp.spark;

import java.io.Serializable;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.checkpoint.AmpState;
import org.dl4jamp.precision.Precision;

/**
 * The report of one task's mixed precision.
 *
 * @param stage Spark's number of the stage, the same when a stage is run again
 * @param partition which part of the stage's work it was
 * @param worker which of the stage's workers it was: a worker has one network at a time
 * @param livesOn whether the worker's network goes on with the next task, as with shared gradients
 * @param executor Spark's name of the executor
 * @param host its host
 * @param precision the precision of layers in lower precision
 * @param engine the engine's name
 * @param end the state at its end
 * @param taken steps that this task took
 * @param skipped steps that this task skipped
 */
record TaskReport(
        int stage,
        int partition,
        String worker,
        boolean livesOn,
        String executor,
        String host,
        Precision precision,
        String engine,
        AmpState end,
        long taken,
        long skipped)
        implements Serializable {
    /** Steps of the worker's network since training began. */
    long steps() {
        return end.stepsTaken() + end.stepsSkipped();
    }

    /**
     * Returns what was done in a task that had a network of its own.
     *
     * @param begin the state when it began
     */
    static TaskReport of(TaskContext task, MixedPrecision amp, AmpState begin) {
        // A part of a split is a worker's, whichever executor it's on.
        return of(task, Integer.toString(task.partitionId()), false, amp, begin, amp.state());
    }

    /**
     * Returns what was done in a task with the network that lives on in its executor.
     *
     * @param begin the state when it began
     * @param end the state when it ended
     */
    static TaskReport ofExecutor(TaskContext task, MixedPrecision amp, AmpState begin, AmpState end) {
        return of(task, SparkEnv.get().executorId(), true, amp, begin, end);
    }

    private static TaskReport of(
            TaskContext task, String worker, boolean livesOn, MixedPrecision amp, AmpState begin, AmpState end) {
        SparkEnv executor = SparkEnv.get();
        return new TaskReport(
                task.stageId(),
                task.partitionId(),
                worker,
                livesOn,
                executor.executorId(),
                executor.blockManager().blockManagerId().host(),
                amp.precision(),
                amp.engine(),
                end,
                end.stepsTaken() - begin.stepsTaken(),
                end.stepsSkipped() - begin.stepsSkipped());
    }
}
