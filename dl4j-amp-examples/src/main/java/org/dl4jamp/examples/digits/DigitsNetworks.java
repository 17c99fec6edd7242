package org.dl4jamp.examples.digits;

import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.weights.WeightInit;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** The two networks that read digits: a plain stack of layers, and a graph with a residual block. */
public final class DigitsNetworks {
    private static final long SEED = 20260102;
    private static final double LEARNING_RATE = 2e-3;
    private static final int RESIDUAL_CHANNELS = 24;

    private DigitsNetworks() {}

    /** Returns a network of two convolutions, max pooling and a dense layer. */
    static MultiLayerConfiguration cnn() {
        return base().list()
                .layer(convolution(16)
                        .activation(Activation.RELU)
                        .name("conv_1")
                        .build())
                .layer(convolution(32)
                        .activation(Activation.RELU)
                        .name("conv_2")
                        .build())
                .layer(new SubsamplingLayer.Builder(SubsamplingLayer.PoolingType.MAX)
                        .kernelSize(2, 2)
                        .stride(2, 2)
                        .name("pool")
                        .build())
                .layer(new DenseLayer.Builder()
                        .nOut(64)
                        .activation(Activation.RELU)
                        .name("dense")
                        .build())
                .layer(output().name("output").build())
                .setInputType(InputType.convolutional(Digits.SIDE, Digits.SIDE, 1))
                .build();
    }

    /** Returns a convolution and a residual block of two, with batch normalization after each. */
    public static ComputationGraphConfiguration residual() {
        return base().graphBuilder()
                .addInputs("image")
                .addLayer("conv_in", convolution(RESIDUAL_CHANNELS).build(), "image")
                .addLayer("bn_in", new BatchNormalization(), "conv_in")
                .addLayer("relu_in", relu(), "bn_in")
                .addLayer("conv_1", convolution(RESIDUAL_CHANNELS).build(), "relu_in")
                .addLayer("bn_1", new BatchNormalization(), "conv_1")
                .addLayer("relu_1", relu(), "bn_1")
                .addLayer("conv_2", convolution(RESIDUAL_CHANNELS).build(), "relu_1")
                .addLayer("bn_2", new BatchNormalization(), "conv_2")
                .addVertex("add", new ElementWiseVertex(ElementWiseVertex.Op.Add), "bn_2", "relu_in")
                .addLayer("relu_2", relu(), "add")
                .addLayer("pool", new GlobalPoolingLayer(PoolingType.MAX), "relu_2")
                .addLayer("output", output().build(), "pool")
                .setOutputs("output")
                .setInputTypes(InputType.convolutional(Digits.SIDE, Digits.SIDE, 1))
                .build();
    }

    private static NeuralNetConfiguration.Builder base() {
        return new NeuralNetConfiguration.Builder()
                .seed(SEED)
                .weightInit(WeightInit.RELU)
                .updater(new Adam(LEARNING_RATE));
    }

    private static ConvolutionLayer.Builder convolution(int channels) {
        return new ConvolutionLayer.Builder(3, 3)
                .convolutionMode(ConvolutionMode.Same)
                .nOut(channels)
                .activation(Activation.IDENTITY);
    }

    private static ActivationLayer relu() {
        return new ActivationLayer(Activation.RELU);
    }

    private static OutputLayer.Builder output() {
        return new OutputLayer.Builder(LossFunction.MCXENT)
                .nOut(Digits.CLASSES)
                .activation(Activation.SOFTMAX)
                .weightInit(WeightInit.XAVIER);
    }
}
