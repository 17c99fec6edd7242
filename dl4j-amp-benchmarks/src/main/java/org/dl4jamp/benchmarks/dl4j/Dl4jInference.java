package org.dl4jamp.benchmarks.dl4j;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.benchmarks.kernels.OneDnnWorkload;
import org.dl4jamp.benchmarks.side.Inference;
import org.dl4jamp.benchmarks.side.Task;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

/**
 * A DL4J network that infers as DL4J's users have it, with {@code output} or {@code rnnTimeStep}, plain or in this
 * project's inference mode.
 */
public final class Dl4jInference implements Inference, OneDnnWorkload {
    private final NeuralNetwork network;
    private final INDArray features;
    private final List<INDArray> timeSteps;
    private final InferenceMode mode;
    private final boolean direct;

    private Dl4jInference(NeuralNetwork network, INDArray features, Task task, InferenceMode mode, boolean direct) {
        this.network = network;
        this.features = features;
        this.timeSteps = task == Task.TIME_STEPS ? timeSteps(features) : List.of();
        this.mode = mode;
        this.direct = direct;
    }

    /** Returns the workload in stock DL4J. */
    public static Dl4jInference stock(NeuralNetwork network, INDArray features, Task task) {
        return new Dl4jInference(network, features, task, null, false);
    }

    /** Returns the same network with this project's CPU engine. */
    public static Dl4jInference amp(NeuralNetwork network, INDArray features, Task task, Precision precision) {
        return new Dl4jInference(network, features, task, mode(network, config(precision)), false);
    }

    /** Returns the same, called by {@link InferenceMode#output} in place of the network's own method. */
    public static Dl4jInference direct(NeuralNetwork network, INDArray features, Task task, Precision precision) {
        return new Dl4jInference(network, features, task, mode(network, config(precision)), true);
    }

    private static AmpConfig config(Precision precision) {
        return AmpConfig.builder()
                .precision(precision)
                .engine(EngineChoice.MEASURED)
                .build();
    }

    /** Returns the same network with what this project chooses for it. */
    public static Dl4jInference auto(NeuralNetwork network, INDArray features, Task task) {
        return new Dl4jInference(network, features, task, mode(network, AmpConfig.defaults()), false);
    }

    private static InferenceMode mode(NeuralNetwork network, AmpConfig config) {
        return network instanceof ComputationGraph graph
                ? MixedPrecision.inference(graph, config)
                : MixedPrecision.inference((MultiLayerNetwork) network, config);
    }

    /** Returns arrays {@code [minibatch, nIn, 1]}. DL4J makes such arrays of {@code [minibatch, nIn]} in each call. */
    private static List<INDArray> timeSteps(INDArray sequences) {
        List<INDArray> steps = new ArrayList<>();
        for (int step = 0; step < sequences.size(2); step++) {
            steps.add(sequences
                    .get(NDArrayIndex.all(), NDArrayIndex.all(), NDArrayIndex.interval(step, step + 1))
                    .dup('c'));
        }
        return steps;
    }

    /** Closes what the pass returns, as is done with the results of ONNX Runtime. */
    @Override
    public void pass() {
        infer().stream().filter(INDArray::closeable).forEach(INDArray::close);
    }

    /** Returns one array, or one for each time step. */
    private List<INDArray> infer() {
        if (!timeSteps.isEmpty()) {
            MultiLayerNetwork recurrent = (MultiLayerNetwork) network;
            recurrent.rnnClearPreviousState();
            return timeSteps.stream().map(recurrent::rnnTimeStep).toList();
        }
        if (direct) {
            return List.of(mode.output(features));
        }
        return List.of(
                network instanceof ComputationGraph graph
                        ? graph.outputSingle(features)
                        : ((MultiLayerNetwork) network).output(features));
    }

    @Override
    public float[] outputs() {
        List<INDArray> inferred = infer();
        INDArray sequencesLast =
                timeSteps.isEmpty() ? inferred.get(0) : Nd4j.concat(2, inferred.toArray(INDArray[]::new));
        return BlueprintBuilder.timeBeforeFeatures(sequencesLast).values();
    }

    @Override
    public Optional<String> chosen() {
        return Optional.ofNullable(mode)
                .filter(on -> on.config().precision() == Precision.AUTO)
                .map(on -> EngineChoice.of(on.plan(), on.engine()));
    }

    @Override
    public void close() {
        if (mode != null) {
            mode.close();
        }
        ((Model) network).close();
    }
}
