package org.dl4jamp.spark;

import java.io.Serializable;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Precision;
import org.dl4jamp.checkpoint.AmpState;

/**
 * What the mixed precision of one task did.
 *
 * @param stage Spark's number of the stage, the same when a stage is run again
 * @param partition which part of the stage's work it was
 * @param executor Spark's name of the executor
 * @param host where it runs
 * @param precision what layers in lower precision compute in
 * @param engine what computes
 * @param end the state at its end
 * @param taken steps that this task took
 * @param skipped steps that this task skipped
 */
record TaskReport(
        int stage,
        int partition,
        String executor,
        String host,
        Precision precision,
        String engine,
        AmpState end,
        long taken,
        long skipped)
        implements Serializable {
    /**
     * What was done since a task began.
     *
     * @param begin the state when it began
     */
    static TaskReport of(TaskContext task, MixedPrecision amp, AmpState begin) {
        AmpState end = amp.state();
        SparkEnv executor = SparkEnv.get();
        return new TaskReport(
                task.stageId(),
                task.partitionId(),
                executor.executorId(),
                executor.blockManager().blockManagerId().host(),
                amp.precision(),
                amp.engine(),
                end,
                end.stepsTaken() - begin.stepsTaken(),
                end.stepsSkipped() - begin.stepsSkipped());
    }
}
