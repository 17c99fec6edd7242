package org.dl4jamp.examples.sine;

import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.weights.WeightInit;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** The network that learns the sinusoid: 1×1 convolutions, which compute each point of the grid by itself. */
final class SineNetwork {
    private static final long SEED = 20260101;
    private static final double LEARNING_RATE = 1e-3;

    private SineNetwork() {}

    /**
     * Returns a convolution 2→hidden, then {@code layers} times convolution hidden→hidden, each with batch
     * normalization and ReLU; convolution hidden→1; mean squared error; Adam.
     */
    static MultiLayerConfiguration configuration(int size, int hidden, int layers) {
        NeuralNetConfiguration.ListBuilder list = new NeuralNetConfiguration.Builder()
                .seed(SEED)
                .weightInit(WeightInit.RELU)
                .updater(new Adam(LEARNING_RATE))
                .list();
        for (int i = 0; i <= layers; i++) {
            list.layer(convolution(hidden).name("conv_" + i).build());
            list.layer(new BatchNormalization.Builder().name("bn_" + i).build());
            list.layer(new ActivationLayer.Builder()
                    .activation(Activation.RELU)
                    .name("relu_" + i)
                    .build());
        }
        list.layer(convolution(1).name("conv_out").build());
        list.layer(new CnnLossLayer.Builder(LossFunction.MSE)
                .activation(Activation.IDENTITY)
                .name("loss")
                .build());
        return list.setInputType(InputType.convolutional(size, size, 2)).build();
    }

    private static ConvolutionLayer.Builder convolution(int channels) {
        return new ConvolutionLayer.Builder(1, 1).nOut(channels).activation(Activation.IDENTITY);
    }
}
