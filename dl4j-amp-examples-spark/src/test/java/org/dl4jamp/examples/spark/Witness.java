package org.dl4jamp.examples.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.Serializable;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.util.CollectionAccumulator;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.spark.api.TrainingHook;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.examples.digits.DigitsNetworks;
import org.nd4j.linalg.dataset.api.DataSet;
import org.nd4j.linalg.dataset.api.MultiDataSet;

/**
 * Tells the driver what tasks compute in, step by step, without a part of {@code SparkAmp}: as a training hook, and as
 * a listener. An executor's network that lives on keeps the listener of its first task, so each task brings its own way
 * to the driver.
 */
final class Witness extends BaseTrainingListener implements TrainingHook, Serializable {
    private static final long serialVersionUID = 1L;
    private static final Map<Long, Witness> OF_TASKS = new ConcurrentHashMap<>();

    private final CollectionAccumulator<Seen> seen;

    /**
     * A step that a task has done.
     *
     * @param mixedPrecision settings in force, with precision, engine and layers as they are; "none" in FP32
     * @param skipped how many steps the network has skipped so far
     */
    record Seen(String executor, int stage, int partition, String mixedPrecision, long skipped)
            implements Serializable {}

    Witness(JavaSparkContext context) {
        seen = context.sc().collectionAccumulator();
    }

    /** All steps of tasks whose results counted. */
    List<Seen> seen() {
        return List.copyOf(seen.value());
    }

    /**
     * Requires that all steps were in this mixed precision. An accumulator counts steps of stages that were run again,
     * too.
     */
    void requireEveryStep(String mixedPrecision) {
        assertEquals(
                Set.of(mixedPrecision),
                seen().stream().map(Seen::mixedPrecision).collect(Collectors.toSet()));
    }

    /** Requires that steps were skipped on each executor that is seen. */
    void requireSkips() {
        Map<String, Long> skipped = seen().stream().collect(Collectors.toMap(Seen::executor, Seen::skipped, Math::max));
        assertTrue(skipped.values().stream().anyMatch(count -> count > 0), skipped::toString);
    }

    /**
     * Returns what the residual graph computes in with these settings, in this process, whose CPU is that of the
     * executors.
     */
    static String describe(AmpConfig config) {
        ComputationGraph graph = new ComputationGraph(DigitsNetworks.residual());
        graph.init();
        try (MixedPrecision amp = MixedPrecision.enable(graph, config)) {
            return describe(amp);
        }
    }

    private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
        in.defaultReadObject();
        TaskContext task = TaskContext.get();
        if (task != null) {
            OF_TASKS.put(task.taskAttemptId(), this);
        }
    }

    /** Returns what a network computes in. */
    static String describe(MixedPrecision amp) {
        return amp.precision() + " on " + amp.engine() + ", "
                + amp.plan().rows().stream()
                        .map(row -> row.precision().toString())
                        .toList() + ", " + amp.config();
    }

    private static void stepDone(Model model) {
        TaskContext task = TaskContext.get();
        OF_TASKS.get(task.taskAttemptId())
                .seen
                .add(new Seen(
                        SparkEnv.get().executorId(),
                        task.stageId(),
                        task.partitionId(),
                        MixedPrecision.of(model).map(Witness::describe).orElse("none"),
                        MixedPrecision.of(model)
                                .map(MixedPrecision::stepsSkipped)
                                .orElse(0L)));
    }

    @Override
    public void iterationDone(Model model, int iteration, int epoch) {
        stepDone(model);
    }

    @Override
    public void preUpdate(DataSet minibatch, Model model) {}

    @Override
    public void preUpdate(MultiDataSet minibatch, Model model) {}

    @Override
    public void postUpdate(DataSet minibatch, Model model) {
        stepDone(model);
    }

    @Override
    public void postUpdate(MultiDataSet minibatch, Model model) {
        stepDone(model);
    }
}
