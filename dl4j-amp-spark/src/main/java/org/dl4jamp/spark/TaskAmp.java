package org.dl4jamp.spark;

import java.util.Map;
import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.AmpConfig;
import org.dl4jamp.AmpException;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.checkpoint.AmpState;
import org.dl4jamp.checkpoint.CarriedConfig;
import org.dl4jamp.scale.LossScalerState;

/** The mixed precision of a task's network: goes on where the stage before has ended, and reports when the task has ended. */
final class TaskAmp {
    private TaskAmp() {}

    /**
     * Enables mixed precision for the rest of a task. DL4J tells its hooks nothing after the last step, so the report is made when Spark completes the task: parameters and updater state are on their way by then.
     *
     * @param training where it is, and the way for the report
     */
    static void begin(Model model, TaskContext task, TrainingSoFar training) {
        MixedPrecision amp = enable(model, training.before(task.stageId()));
        AmpState begin = amp.state();
        task.addTaskCompletionListener((TaskCompletionListener) context -> {
            training.report(TaskReport.of(context, amp, begin));
            amp.close();
        });
    }

    /** Enables mixed precision on a network that has none, in the state that training has. */
    static MixedPrecision enable(Model model, StageEnd end) {
        CarriedConfig.of(model).map(AmpConfig::accumulate).ifPresent(TaskAmp::requireSteps);
        MixedPrecision amp = MixedPrecision.enable(model);
        Map<String, LossScalerState> scalers = end.scalers();
        if (scalers.isEmpty()) {
            return amp;
        }
        // Which kind of scaler this executor has is known only now: its precision may be another than that of those
        // that reported.
        AmpState fresh = amp.state();
        LossScalerState scaler = scalers.getOrDefault(fresh.scaler().kind(), fresh.scaler());
        long skipped = Math.round(end.skipped());
        if (scaler.equals(fresh.scaler()) && skipped == 0) {
            return amp;
        }
        amp.close();
        // The network has counted the skipped steps among its iterations: what is left are those that Adam has seen.
        long taken = Math.max(0, iterations(model) - skipped);
        int consecutive = (int) Math.min(skipped, end.consecutiveSkips());
        return MixedPrecision.enable(model, new AmpState(fresh.config(), scaler, taken, skipped, consecutive));
    }

    /** DL4J says nothing to its hooks before it takes a task's parameters, so nobody could make a step of the rest. */
    private static void requireSteps(int microBatches) {
        if (microBatches > 1) {
            throw new AmpException(
                    "config: accumulate(" + microBatches
                            + ") isn't for tasks on Spark: each has a network of its own, and micro-batches that wait when it ends would be lost."
                            + " Leave it out of the settings that the configuration carries; averaging over workers makes the effective batch larger already");
        }
    }

    /** How many iterations a network says that it has done. */
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
