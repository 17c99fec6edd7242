package org.dl4jamp.onednn;

import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Networks of each sort for tests that are about what is done with a network. */
final class SmallNetworks {
    private static final int CLASSES = 3;

    private SmallNetworks() {}

    private static NeuralNetConfiguration.Builder builder() {
        return new NeuralNetConfiguration.Builder().seed(7).updater(new Adam(1e-3));
    }

    private static MultiLayerNetwork init(NeuralNetConfiguration.ListBuilder list, InputType type) {
        MultiLayerNetwork network =
                new MultiLayerNetwork(list.setInputType(type).build());
        network.init();
        return network;
    }

    private static OutputLayer softmax() {
        return new OutputLayer.Builder(LossFunction.MCXENT)
                .nOut(CLASSES)
                .activation(Activation.SOFTMAX)
                .build();
    }

    private static ConvolutionLayer convolution(int out) {
        return new ConvolutionLayer.Builder(3, 3)
                .nOut(out)
                .convolutionMode(ConvolutionMode.Same)
                .activation(Activation.IDENTITY)
                .build();
    }

    private static DenseLayer dense(int out, Activation activation) {
        return new DenseLayer.Builder().nOut(out).activation(activation).build();
    }

    /** Of vectors of 20 features. */
    static MultiLayerNetwork dense() {
        return init(
                builder()
                        .list()
                        .layer(dense(32, Activation.RELU))
                        .layer(dense(16, Activation.TANH))
                        .layer(softmax()),
                InputType.feedForward(20));
    }

    /** Of images of 3 channels of 8 by 8. */
    static MultiLayerNetwork convolutional() {
        return init(
                builder()
                        .list()
                        .layer(convolution(8))
                        .layer(new BatchNormalization())
                        .layer(new ActivationLayer(Activation.RELU))
                        .layer(dense(24, Activation.RELU))
                        .layer(softmax()),
                InputType.convolutional(8, 8, 3));
    }

    /** Of sequences of 5 features. */
    static MultiLayerNetwork recurrent() {
        return init(
                builder()
                        .list()
                        .layer(new LSTM.Builder().nOut(16).build())
                        .layer(new RnnOutputLayer.Builder(LossFunction.MCXENT)
                                .nOut(CLASSES)
                                .activation(Activation.SOFTMAX)
                                .build()),
                InputType.recurrent(5));
    }

    /** Of images of 3 channels of 8 by 8, with a residual block. */
    static ComputationGraph residual() {
        ComputationGraph graph = new ComputationGraph(builder()
                .graphBuilder()
                .addInputs("in")
                .setInputTypes(InputType.convolutional(8, 8, 3))
                .addLayer("stem", convolution(8), "in")
                .addLayer("a", convolution(8), "stem")
                .addLayer("bn", new BatchNormalization(), "a")
                .addVertex("add", new ElementWiseVertex(ElementWiseVertex.Op.Add), "bn", "stem")
                .addLayer("relu", new ActivationLayer(Activation.RELU), "add")
                .addLayer("pool", new GlobalPoolingLayer(PoolingType.AVG), "relu")
                .addLayer("out", softmax(), "pool")
                .setOutputs("out")
                .build());
        graph.init();
        return graph;
    }

    static DataSet images(int examples) {
        Nd4j.getRandom().setSeed(12);
        return new DataSet(Nd4j.randn(DataType.FLOAT, examples, 3, 8, 8), oneHot(examples));
    }

    private static INDArray oneHot(int examples) {
        INDArray labels = Nd4j.zeros(DataType.FLOAT, examples, CLASSES);
        for (int i = 0; i < examples; i++) {
            labels.putScalar(i, i % CLASSES, 1);
        }
        return labels;
    }
}
