package org.dl4jamp.onednn;

import static org.dl4jamp.onednn.Layers.gaussian;

import java.util.Random;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LocalResponseNormalization;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.dl4jamp.Networks;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.Sgd;

/** Networks of one kind of layer each, with an output layer. */
// DL4J's types of input and arrays are mutable, but stay as they are here.
@SuppressWarnings("ImmutableEnumChecker")
enum NetworkOfKind {
    DENSE(InputType.feedForward(5)),
    NORMALIZED_DENSE(InputType.feedForward(5)),
    CONVOLUTION(InputType.convolutional(6, 6, 3)),
    RESIDUAL(InputType.convolutional(6, 6, 3)),
    MAXIMUM(InputType.feedForward(5)),
    BRANCHES(InputType.feedForward(5)),
    LSTM_LAYER(InputType.recurrent(5, 7)),
    SIMPLE_RNN(InputType.recurrent(5, 7)),
    BIDIRECTIONAL(InputType.recurrent(5, 7)),
    POOLED_SEQUENCE(InputType.recurrent(5, 7));

    private final InputType input;

    NetworkOfKind(InputType input) {
        this.input = input;
    }

    private boolean isOf(InputType.Type type) {
        return input.getType() == type;
    }

    private static DenseLayer dense(Activation activation) {
        return Networks.dense(8, activation);
    }

    private static ConvolutionLayer convolution(Activation activation) {
        return new ConvolutionLayer.Builder(3, 3).nOut(4).activation(activation).build();
    }

    private static Layer lstm() {
        return new LSTM.Builder().nOut(4).activation(Activation.TANH).build();
    }

    private void addTo(GraphBuilder graph, Activation activation) {
        switch (this) {
            case DENSE -> graph.addLayer("a", dense(activation), "in").addLayer("last", dense(activation), "a");
            case NORMALIZED_DENSE ->
                graph.addLayer("a", dense(Activation.IDENTITY), "in")
                        .addLayer("b", new BatchNormalization(), "a")
                        .addLayer("last", new ActivationLayer(activation), "b");
            case CONVOLUTION ->
                graph.addLayer("a", convolution(activation), "in")
                        .addLayer(
                                "b",
                                new SubsamplingLayer.Builder(2, 2).stride(2, 2).build(),
                                "a")
                        .addLayer(
                                "c",
                                new LocalResponseNormalization.Builder().n(3).build(),
                                "b")
                        .addLayer("last", convolution(activation), "c");
            case RESIDUAL ->
                graph.addLayer("a", convolution(activation), "in")
                        .addLayer("b", convolution(Activation.IDENTITY), "a")
                        .addLayer("c", new BatchNormalization(), "b")
                        .addVertex("sum", new ElementWiseVertex(ElementWiseVertex.Op.Add), "c", "a")
                        .addLayer("d", new ActivationLayer(activation), "sum")
                        .addLayer("last", new GlobalPoolingLayer(PoolingType.AVG), "d");
            case MAXIMUM ->
                graph.addLayer("a", dense(activation), "in")
                        .addLayer("b", dense(activation), "in")
                        .addVertex("last", new ElementWiseVertex(ElementWiseVertex.Op.Max), "a", "b");
            case BRANCHES ->
                graph.addLayer("a", dense(activation), "in")
                        .addLayer("b", dense(activation), "other")
                        .addVertex("last", new MergeVertex(), "a", "b");
            case LSTM_LAYER -> graph.addLayer("last", lstm(), "in");
            case SIMPLE_RNN ->
                graph.addLayer(
                        "last",
                        new SimpleRnn.Builder().nOut(4).activation(activation).build(),
                        "in");
            case BIDIRECTIONAL -> graph.addLayer("last", new Bidirectional(Bidirectional.Mode.CONCAT, lstm()), "in");
            case POOLED_SEQUENCE ->
                graph.addLayer("a", lstm(), "in").addLayer("last", new GlobalPoolingLayer(PoolingType.MAX), "a");
        }
    }

    ComputationGraph make(Activation activation) {
        GraphBuilder graph = new NeuralNetConfiguration.Builder()
                .seed(5)
                .updater(new Sgd(0.1))
                .convolutionMode(ConvolutionMode.Same)
                .graphBuilder();
        if (this == BRANCHES) {
            graph.addInputs("in", "other").setInputTypes(input, input);
        } else {
            graph.addInputs("in").setInputTypes(input);
        }
        addTo(graph, activation);
        boolean sequences = isOf(InputType.Type.RNN) && this != POOLED_SEQUENCE;
        graph.addLayer("out", sequences ? Networks.rnnSoftmax(4) : Networks.softmax(4), "last")
                .setOutputs("out");
        return Networks.init(graph.build());
    }

    private INDArray features(int seed) {
        if (isOf(InputType.Type.FF)) {
            return gaussian(new Random(seed), 1, 6, 5);
        }
        return isOf(InputType.Type.CNN)
                ? gaussian(new Random(seed), 1, 6, 3, 6, 6)
                : gaussian(new Random(seed), 1, 6, 5, 7);
    }

    INDArray[] inputs(int seed) {
        return this == BRANCHES ? new INDArray[] {features(seed), features(seed + 1)} : new INDArray[] {features(seed)};
    }

    /** One number of one example is special. */
    INDArray[] inputs(float special) {
        INDArray[] inputs = inputs(3);
        INDArray last = inputs[inputs.length - 1];
        last.putScalar(2 * last.length() / 6 + 1, special);
        return inputs;
    }
}
