package org.dl4jamp.spark;

import java.util.Map;
import java.util.Optional;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.checkpoint.AmpState;
import org.dl4jamp.scale.LossScalerState;

/**
 * The mixed precision of a task's network: goes on where the stage before has ended, and reports when the task has
 * ended.
 */
final class TaskAmp {
    private TaskAmp() {}

    /**
     * Enables mixed precision for the rest of a task. DL4J doesn't call its hooks after the last step, so the report is
     * made when Spark completes the task: parameters and updater state are on their way by then.
     *
     * @param training the state of training, and the accumulator for the report
     */
    static void begin(Model model, TaskContext task, TrainingSoFar training) {
        MixedPrecision amp = enable(model, task, training);
        AmpState begin = amp.state();
        task.addTaskCompletionListener((TaskCompletionListener) context -> {
            try {
                training.report(TaskReport.of(context, amp, begin));
            } finally {
                amp.close();
            }
        });
    }

    /** Enables mixed precision on a network that has none, in the state that training has. */
    static MixedPrecision enable(Model model, TaskContext task, TrainingSoFar training) {
        StageEnd end = training.before(task.stageId());
        MixedPrecision amp = MixedPrecision.enable(model, training.settings().of(model));
        Map<String, LossScalerState> scalers = end.scalers();
        if (scalers.isEmpty()) {
            return amp;
        }
        // The kind of this executor's scaler is only available now: its precision may be another than that of those
        // that reported.
        AmpState fresh = amp.state();
        LossScalerState scaler = scalers.getOrDefault(fresh.scaler().kind(), fresh.scaler());
        long skipped = Math.round(end.skipped());
        int consecutive = end.consecutiveSkips()
                .of(TaskContext.getPartitionId(), SparkEnv.get().executorId());
        if (scaler.equals(fresh.scaler()) && skipped == 0 && consecutive == 0 && end.withoutStep() == 0) {
            return amp;
        }
        amp.close();
        // The network counts skipped steps and micro-batches among its iterations: what is left are those that Adam has
        // seen.
        long taken = Math.max(0, iterations(model) - skipped - end.withoutStep());
        // This worker may have skipped more steps than an average one.
        long ofWorker = Math.max(skipped, consecutive);
        return MixedPrecision.enable(
                model,
                new AmpState(
                        fresh.config(), scaler, taken, ofWorker, consecutive, end.withoutStep(), Optional.empty()));
    }

    /** Returns the count of iterations that a network reports. */
    static int iterations(Model model) {
        return model instanceof MultiLayerNetwork network
                ? network.getIterationCount()
                : ((ComputationGraph) model).getIterationCount();
    }

    static void setIterations(Model model, int iterations) {
        if (model instanceof MultiLayerNetwork network) {
            network.setIterationCount(iterations);
        } else {
            ((ComputationGraph) model).getConfiguration().setIterationCount(iterations);
        }
    }
}
