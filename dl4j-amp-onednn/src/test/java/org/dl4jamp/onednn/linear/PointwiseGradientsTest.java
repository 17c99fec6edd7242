package org.dl4jamp.onednn.linear;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DepthwiseConvolution2D;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.SeparableConvolution2D;
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
import org.nd4j.linalg.learning.config.Sgd;

/**
 * A step of pointwise convolutions beside DL4J's step in FP64. There are more pixels than a product computes in all
 * passes. Which primitive computes the weights' gradients depends on the CPU.
 */
class PointwiseGradientsTest {
    private static final int EXAMPLES = 3;

    private static final int CLASSES = 4;

    /** Makes the update larger than the rounding of the parameters that it's subtracted from. */
    private static final double LEARNING_RATE = 10;

    private static Layer layer(String kind, CNN2DFormat format, boolean bias) {
        return switch (kind) {
            case "depthwise" ->
                new DepthwiseConvolution2D.Builder(1, 1)
                        .depthMultiplier(2)
                        .dataFormat(format)
                        .hasBias(bias)
                        .activation(Activation.TANH)
                        .build();
            case "separable" ->
                new SeparableConvolution2D.Builder(3, 3)
                        .nOut(7)
                        .dataFormat(format)
                        .hasBias(bias)
                        .activation(Activation.TANH)
                        .build();
            case "sequence" ->
                new Convolution1DLayer.Builder(1)
                        .nOut(7)
                        .hasBias(bias)
                        .activation(Activation.TANH)
                        .build();
            case "volume" ->
                new Convolution3D.Builder(1, 1, 1)
                        .nOut(7)
                        .hasBias(bias)
                        .activation(Activation.TANH)
                        .build();
            default ->
                new ConvolutionLayer.Builder(1, 1)
                        .nOut(7)
                        .stride(kind.equals("strided") ? new int[] {2, 2} : new int[] {1, 1})
                        .dataFormat(format)
                        .hasBias(bias)
                        .activation(Activation.TANH)
                        .build();
        };
    }

    private static InputType input(String kind, CNN2DFormat format, int channels) {
        return switch (kind) {
            case "sequence" -> InputType.recurrent(channels, 600);
            case "volume" -> InputType.convolutional3D(Convolution3D.DataFormat.NCDHW, 9, 9, 9, channels);
            default -> InputType.convolutional(25, 25, channels, format);
        };
    }

    private static MultiLayerNetwork network(
            String kind, CNN2DFormat format, boolean bias, int channels, DataType type) {
        return Networks.init(Networks.builder(new Sgd(LEARNING_RATE))
                .dataType(type)
                .list()
                .layer(layer(kind, format, bias))
                .layer(layer(kind, format, true))
                .layer(new GlobalPoolingLayer())
                .layer(Networks.softmax(CLASSES))
                .setInputType(input(kind, format, channels))
                .build());
    }

    @ParameterizedTest
    @CsvSource({
        "image, NCHW, true, 5",
        "image, NCHW, false, 1",
        "image, NHWC, true, 16",
        "image, NHWC, false, 3",
        "strided, NCHW, true, 5",
        "depthwise, NCHW, true, 3",
        "separable, NCHW, true, 3",
        "sequence, NCHW, true, 5",
        "sequence, NCHW, false, 2",
        "volume, NCHW, true, 3",
        "volume, NCHW, false, 2"
    })
    void aStepIsThatOfDl4jInDoublePrecision(String kind, CNN2DFormat format, boolean bias, int channels) {
        MultiLayerNetwork network = network(kind, format, bias, channels, DataType.FLOAT);
        MultiLayerNetwork precise = network(kind, format, bias, channels, DataType.DOUBLE);
        precise.setParams(network.params().castTo(DataType.DOUBLE));
        INDArray before = precise.params().dup();
        long[] shape = input(kind, format, channels).getShape(true);
        shape[0] = EXAMPLES;
        INDArray features = Networks.gaussian(7, shape).castTo(DataType.FLOAT);
        INDArray labels = Networks.oneHot(EXAMPLES, CLASSES);
        AmpConfig config = AmpConfig.builder()
                .engine(OneDnnEngine.NAME)
                .precision(Precision.FLOAT)
                .build();
        try (MixedPrecision amp = MixedPrecision.enable(network, config)) {
            assertEquals(OneDnnEngine.NAME, amp.plan().rows().get(0).engine());
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
