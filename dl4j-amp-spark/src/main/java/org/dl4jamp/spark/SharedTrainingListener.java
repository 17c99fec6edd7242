package org.dl4jamp.spark;

import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.Serializable;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.ServesOneNetwork;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Mixed precision in every executor of shared gradients, from its first iteration. DL4J's training master for them
 * refuses hooks, but sends listeners along, one with each task. The executor's network lives on from task to task and
 * keeps the listener of its first task, which can't reach the driver after that task. So its calls go to the
 * {@link SharedTask} that runs.
 */
final class SharedTrainingListener extends BaseTrainingListener implements ServesOneNetwork, Serializable {
    private static final long serialVersionUID = 1L;

    private static final String SEVERAL_REPLICAS =
            "SharedTrainingMaster trains with several replicas in this executor, in which a listener can't turn on"
                    + " mixed precision before their"
                    + " first step, and which are new ones in each task. Say"
                    + " SharedTrainingMaster.Builder.workersPerNode(1): by default DL4J takes"
                    + " one for every four cores or, with several GPUs, one for each. For more workers start more"
                    + " executors";

    private static final String REPLACED =
            "This fit's listeners lack that of SparkAmp, which an earlier fit of the same SharedTrainingMaster had:"
                    + " spark.setListeners replaces all of them. Executors keep their networks, which are in mixed"
                    + " precision"
                    + " and have no way to report. Give SparkAmp.listener() with each call of setListeners; to go on"
                    + " in FP32"
                    + " take another SharedTrainingMaster, on a cluster in another JavaSparkContext";

    private final TrainingSoFar training;
    private transient boolean sentToTask;

    SharedTrainingListener(TrainingSoFar training) {
        this.training = training;
    }

    private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
        in.defaultReadObject();
        TaskContext task = TaskContext.get();
        if (task != null) {
            sentToTask = true;
            if (!SharedWrapper.isPresent()) {
                throw withoutEpochs();
            }
            SharedTask.register(task, training, this);
        }
    }

    /** Has a network that lives on in the executor call this listener, unless it has one of this kind. */
    void joinUnlessThereIsOne(Model network) {
        Collection<TrainingListener> present = network instanceof MultiLayerNetwork layers
                ? layers.getListeners()
                : ((ComputationGraph) network).getListeners();
        if (present.stream().noneMatch(SharedTrainingListener.class::isInstance)) {
            network.addListeners(this);
        }
    }

    @Override
    public void onEpochStart(Model model) {
        Optional<SharedTask> running = SharedTask.running();
        if (running.isEmpty() && sentToTask && TaskContext.get() != null) {
            // DL4J catches what is thrown here, and has the task succeed.
            TaskContext.get().addTaskCompletionListener((TaskCompletionListener) task -> {
                throw new AmpException(REPLACED);
            });
        }
        running.orElseThrow(this::misplaced).beginEpoch(model);
    }

    @Override
    public void onEpochEnd(Model model) {
        SharedTask.running().ifPresent(SharedTask::endEpoch);
    }

    @Override
    public void onForwardPass(Model model, List<INDArray> activations) {
        requireEnabled(model);
    }

    @Override
    public void onForwardPass(Model model, Map<String, INDArray> activations) {
        requireEnabled(model);
    }

    /** Refuses a step that no epoch was announced for: it's in FP32, and mixed precision can't begin within it. */
    private void requireEnabled(Model model) {
        if (MixedPrecision.of(model).isPresent()) {
            return;
        }
        if (sentToTask && TaskContext.get() == null) {
            // The thread of a replica. What is thrown here ends that thread, and the task would wait for it for ever.
            SharedTask.failAll(training, SEVERAL_REPLICAS);
        } else {
            throw misplaced();
        }
    }

    private AmpException misplaced() {
        if (!sentToTask) {
            return new AmpException(
                    "The listener of SparkAmp is called outside of a Spark task. It's for spark.setListeners with a"
                            + " SharedTrainingMaster; on one machine call MixedPrecision.enable(net), or take an"
                            + " AmpListener, in its place");
        }
        return TaskContext.get() != null && SharedTask.running().isEmpty()
                ? new AmpException(REPLACED)
                : withoutEpochs();
    }

    private static AmpException withoutEpochs() {
        return new AmpException(
                "The listener of SparkAmp is with a training master that begins no epochs in its tasks, such as"
                        + " ParameterAveragingTrainingMaster: give that one SparkAmp.hook(), with"
                        + " Builder.trainingHooks, and leave the listener out");
    }
}
