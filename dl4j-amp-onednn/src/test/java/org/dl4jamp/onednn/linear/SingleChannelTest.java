package org.dl4jamp.onednn.linear;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Cnn3DLossLayer;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/**
 * Convolutions of one channel with one window along the last axis, and a stride there: oneDNN's fast ones are wrong.
 */
class SingleChannelTest {
    private static final int HEIGHT = 3;
    private static final int DEPTH = 2;

    @ParameterizedTest
    @CsvSource({"2, 2, 3", "2, 3, 3", "2, 3, 4", "3, 2, 4", "3, 3, 4", "3, 3, 5"})
    void ofImagesIsDl4js(int kernel, int stride, int width) {
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .seed(3)
                .updater(new Sgd(0.1))
                .list()
                .layer(new ConvolutionLayer.Builder(new int[] {1, kernel}, new int[] {1, stride})
                        .nOut(2)
                        .activation(Activation.IDENTITY)
                        .build())
                .layer(new CnnLossLayer.Builder(LossFunction.MSE)
                        .activation(Activation.IDENTITY)
                        .build())
                .setInputType(InputType.convolutional(HEIGHT, width, 1))
                .build());
        assertSameStep(network, Networks.uniform(1, 3, 1, HEIGHT, width));
    }

    @ParameterizedTest
    @CsvSource({"2, 2, 3", "2, 3, 3", "2, 3, 4", "3, 2, 4", "3, 3, 4", "3, 3, 5"})
    void ofVolumesIsDl4js(int kernel, int stride, int width) {
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .seed(3)
                .updater(new Sgd(0.1))
                .list()
                .layer(new Convolution3D.Builder(new int[] {DEPTH, 1, kernel}, new int[] {1, 1, stride})
                        .nOut(2)
                        .activation(Activation.IDENTITY)
                        .dataFormat(Convolution3D.DataFormat.NCDHW)
                        .build())
                .layer(new Cnn3DLossLayer.Builder(Convolution3D.DataFormat.NCDHW)
                        .lossFunction(LossFunction.MSE)
                        .activation(Activation.IDENTITY)
                        .build())
                .setInputType(InputType.convolutional3D(Convolution3D.DataFormat.NCDHW, DEPTH, HEIGHT, width, 1))
                .build());
        assertSameStep(network, Networks.uniform(2, 3, 1, DEPTH, HEIGHT, width));
    }

    private static void assertSameStep(MultiLayerNetwork network, INDArray features) {
        network.init();
        MultiLayerNetwork stock = network.clone();
        AmpConfig config =
                AmpConfig.builder().precision(Precision.FLOAT).engine("onednn").build();
        try (MixedPrecision amp = MixedPrecision.enable(network, config)) {
            INDArray expected = stock.feedForward(features.dup()).get(1);
            INDArray actual = network.feedForward(features.dup()).get(1);
            assertEquals(0, expected.sub(actual).amaxNumber().doubleValue(), 1e-5);
            INDArray labels = Networks.uniform(3, expected.shape());
            stock.fit(new DataSet(features.dup(), labels.dup()));
            network.fit(new DataSet(features.dup(), labels.dup()));
            assertEquals(0, stock.params().sub(network.params()).amaxNumber().doubleValue(), 1e-5);
        }
    }
}
