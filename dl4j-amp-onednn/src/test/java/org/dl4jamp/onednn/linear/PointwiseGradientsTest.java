package org.dl4jamp.onednn.linear;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DepthwiseConvolution2D;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/**
 * A step of pointwise convolutions over more pixels than are computed as a product in each pass, beside DL4J's step in
 * FP64. Which primitive computes the weights' gradients depends on the CPU.
 */
class PointwiseGradientsTest {
    private static final int EXAMPLES = 3;

    private static final int SIZE = 25;

    private static final double LEARNING_RATE = 10;

    private static Layer first(String kind, CNN2DFormat format, boolean bias) {
        return switch (kind) {
            case "depthwise" ->
                new DepthwiseConvolution2D.Builder(1, 1)
                        .depthMultiplier(2)
                        .dataFormat(format)
                        .hasBias(bias)
                        .activation(Activation.TANH)
                        .build();
            case "strided" -> convolution(2, format, bias);
            default -> convolution(1, format, bias);
        };
    }

    private static ConvolutionLayer convolution(int stride, CNN2DFormat format, boolean bias) {
        return new ConvolutionLayer.Builder(1, 1)
                .nOut(7)
                .stride(stride, stride)
                .dataFormat(format)
                .hasBias(bias)
                .activation(Activation.TANH)
                .build();
    }

    private static MultiLayerNetwork network(Layer first, CNN2DFormat format, DataType type, int channels) {
        return Networks.init(Networks.builder(new Sgd(LEARNING_RATE))
                .dataType(type)
                .list()
                .layer(first)
                .layer(convolution(1, format, true))
                .layer(new GlobalPoolingLayer())
                .layer(Networks.softmax(4))
                .setInputType(InputType.convolutional(SIZE, SIZE, channels, format))
                .build());
    }

    @ParameterizedTest
    @CsvSource({
        "plain, NCHW, true, 5",
        "plain, NCHW, false, 1",
        "plain, NHWC, true, 16",
        "plain, NHWC, false, 3",
        "strided, NCHW, true, 5",
        "depthwise, NCHW, true, 3"
    })
    void aStepIsThatOfDl4jInDoublePrecision(String kind, CNN2DFormat format, boolean bias, int channels) {
        MultiLayerNetwork network = network(first(kind, format, bias), format, DataType.FLOAT, channels);
        MultiLayerNetwork precise = network(first(kind, format, bias), format, DataType.DOUBLE, channels);
        precise.setParams(network.params().castTo(DataType.DOUBLE));
        long[] shape = format == CNN2DFormat.NCHW
                ? new long[] {EXAMPLES, channels, SIZE, SIZE}
                : new long[] {EXAMPLES, SIZE, SIZE, channels};
        INDArray features = Nd4j.randn(Nd4j.getRandomFactory().getNewRandomInstance(7), shape)
                .castTo(DataType.FLOAT);
        INDArray labels = Nd4j.eye(4).castTo(DataType.FLOAT).getRows(0, 2, 3);
        INDArray before = network.params().castTo(DataType.DOUBLE);
        try (MixedPrecision amp = MixedPrecision.enable(
                network,
                AmpConfig.builder()
                        .engine(OneDnnEngine.NAME)
                        .precision(Precision.FLOAT)
                        .build())) {
            network.fit(new DataSet(features, labels));
            assertEquals(1, amp.stepsTaken());
        }
        precise.fit(new DataSet(features.castTo(DataType.DOUBLE), labels.castTo(DataType.DOUBLE)));
        INDArray expected = precise.params().sub(before);
        INDArray updates = network.params().castTo(DataType.DOUBLE).sub(before);
        double largest = expected.amaxNumber().doubleValue();
        double difference = updates.sub(expected).amaxNumber().doubleValue();
        assertTrue(difference < 1e-5 * largest, difference + " of " + largest);
    }
}
