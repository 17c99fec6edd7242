package org.dl4jamp.zoo;

import java.util.LinkedHashMap;
import java.util.Map;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/** A network with its batch, of either of DL4J's kinds. */
final class Subject {
    /** Half the distance between two neighbouring FP32 numbers, relative to them. */
    private static final double FLOAT_ROUNDING = 0x1p-24;
    /** Roundings that may add up in a product of some thousand terms. */
    private static final int ROUNDINGS = 8;

    private final Model network;
    private final DataSet batch;
    private final boolean errors;

    /**
     * Makes a subject.
     *
     * @param errors whether the batch has the gradient of the output in place of labels
     */
    Subject(Model network, DataSet batch, boolean errors) {
        this.network = network;
        this.batch = batch;
        this.errors = errors;
    }

    static Subject of(ZooNetwork zoo) {
        return new Subject(zoo.network(), zoo.batch(), zoo.labels() == ZooNetwork.Labels.ERRORS);
    }

    Model network() {
        return network;
    }

    private static AmpConfig config(Precision precision) {
        return AmpConfig.builder().engine("onednn").precision(precision).build();
    }

    MixedPrecision enable(Precision precision) {
        return network instanceof ComputationGraph graph
                ? MixedPrecision.enable(graph, config(precision))
                : MixedPrecision.enable((MultiLayerNetwork) network, config(precision));
    }

    InferenceMode infer(Precision precision) {
        return network instanceof ComputationGraph graph
                ? MixedPrecision.inference(graph, config(precision))
                : MixedPrecision.inference((MultiLayerNetwork) network, config(precision));
    }

    INDArray output() {
        INDArray features = batch.getFeatures().dup();
        return network instanceof ComputationGraph graph
                ? graph.outputSingle(features)
                : ((MultiLayerNetwork) network).output(features);
    }

    /** Returns the gradients of all parameters, from the same random numbers at each call. */
    Map<String, INDArray> gradients() {
        Nd4j.getRandom().setSeed(5);
        Map<String, INDArray> copies = new LinkedHashMap<>();
        gradient().gradientForVariable().forEach((name, gradient) -> copies.put(name, gradient.dup('c')));
        return copies;
    }

    private Gradient gradient() {
        INDArray features = batch.getFeatures().dup();
        if (network instanceof ComputationGraph graph) {
            graph.setInputs(features);
            graph.setLabels(batch.getLabels().dup());
            graph.computeGradientAndScore();
            return graph.gradient();
        }
        MultiLayerNetwork stack = (MultiLayerNetwork) network;
        stack.setInput(features);
        if (errors) {
            stack.feedForward(true, false);
            return stack.backpropGradient(batch.getLabels().dup(), LayerWorkspaceMgr.noWorkspaces())
                    .getFirst();
        }
        stack.rnnClearPreviousState();
        stack.setLabels(batch.getLabels().dup());
        stack.computeGradientAndScore();
        return stack.gradient();
    }

    INDArray parameters() {
        return network.params().dup();
    }

    void setParameters(INDArray parameters) {
        network.setParams(parameters);
    }

    /** Moves all parameters by as much as roundings to FP32 move a product. */
    void perturb(int seed) {
        Nd4j.getRandom().setSeed(seed);
        INDArray parameters = network.params();
        INDArray factors = Nd4j.rand(parameters.dataType(), parameters.shape())
                .subi(0.5)
                .muli(2 * ROUNDINGS * FLOAT_ROUNDING)
                .addi(1);
        network.setParams(parameters.mul(factors));
    }

    /** Rounds all parameters to BFLOAT16. */
    void round() {
        network.setParams(network.params().castTo(DataType.BFLOAT16).castTo(DataType.FLOAT));
    }
}
