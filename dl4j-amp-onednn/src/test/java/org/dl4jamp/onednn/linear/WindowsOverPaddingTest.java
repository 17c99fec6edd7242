package org.dl4jamp.onednn.linear;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Random;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.Deconvolution2D;
import org.deeplearning4j.nn.conf.layers.DepthwiseConvolution2D;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.SeparableConvolution2D;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.TwinCheck;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/** Convolutions none of whose windows covers a number of the input return their bias, and gradients of zero. */
class WindowsOverPaddingTest {
    private static Arguments layer(
            Activation activation, ConvolutionLayer.BaseConvBuilder<?> builder, long... inputShape) {
        return Arguments.of(builder.activation(activation).nIn(3).nOut(4).build(), inputShape);
    }

    private static Arguments image(
            Activation activation, ConvolutionLayer.BaseConvBuilder<?> builder, long... inputShape) {
        return layer(activation, builder.convolutionMode(ConvolutionMode.Truncate), inputShape);
    }

    static Stream<Arguments> layers() {
        return Stream.of(Activation.IDENTITY, Activation.RELU, Activation.TANH).flatMap(WindowsOverPaddingTest::layers);
    }

    private static Stream<Arguments> layers(Activation activation) {
        int[] one = {1, 1};
        int[] two = {2, 2};
        return Stream.of(
                image(activation, new ConvolutionLayer.Builder(one, two, one), 2, 3, 4, 1),
                image(activation, new ConvolutionLayer.Builder(two, new int[] {3, 3}, two), 2, 3, 1, 1),
                image(
                        activation,
                        new ConvolutionLayer.Builder(2, 3).dilation(2, 1).padding(1, 1),
                        2,
                        3,
                        1,
                        5),
                image(
                        activation,
                        new SeparableConvolution2D.Builder(one, two, one).dataFormat(CNN2DFormat.NCHW),
                        2,
                        3,
                        4,
                        1),
                image(activation, new DepthwiseConvolution2D.Builder(one, two, one).depthMultiplier(2), 2, 3, 4, 1),
                layer(activation, new Convolution1DLayer.Builder(1, 2, 1), 2, 3, 1),
                layer(
                        activation,
                        new Convolution3D.Builder(new int[] {1, 1, 1}, new int[] {2, 2, 2}, new int[] {1, 1, 1}),
                        2,
                        3,
                        1,
                        3,
                        3));
    }

    @ParameterizedTest
    @MethodSource("layers")
    void agreeWithDl4j(ConvolutionLayer layer, long[] shape) {
        Class<?> twin =
                layer instanceof SeparableConvolution2D ? SeparableConvolutionTwin.class : ConvolutionTwin.class;
        TwinCheck.of(layer, twin, new Random(3)).roundingDelta(1).agrees(gaussian(new Random(4), 1, shape));
    }

    /** All that is spread out is cropped. */
    @Test
    void deconvolutionsOfWhichNothingIsLeftAgreeWithDl4j() {
        Deconvolution2D layer = new Deconvolution2D.Builder(1, 1)
                .stride(3, 3)
                .padding(1, 1)
                .activation(Activation.IDENTITY)
                .nIn(3)
                .nOut(4)
                .build();
        TwinCheck.of(layer, ConvolutionTwin.class, new Random(3)).agrees(gaussian(new Random(4), 1, 2, 3, 2, 2));
    }

    private static MultiLayerNetwork network() {
        return Networks.init(new NeuralNetConfiguration.Builder()
                .seed(5)
                .updater(new Sgd(0.1))
                .trainingWorkspaceMode(WorkspaceMode.ENABLED)
                .convolutionMode(ConvolutionMode.Truncate)
                .activation(Activation.RELU)
                .list()
                .layer(new ConvolutionLayer.Builder(3, 3).nOut(3).build())
                .layer(new SeparableConvolution2D.Builder(1, 1)
                        .stride(2, 2)
                        .padding(1, 1)
                        .nOut(4)
                        .biasInit(0.5)
                        .build())
                .layer(new OutputLayer.Builder().nOut(2).build())
                .setInputType(InputType.convolutional(6, 3, 2))
                .build());
    }

    @Test
    void aNetworkTrainsAndInfersAsStockDoes() {
        MultiLayerNetwork stock = network();
        MultiLayerNetwork network = stock.clone();
        INDArray features = gaussian(new Random(6), 1, 8, 2, 6, 3);
        DataSet data = new DataSet(features, Nd4j.tile(Nd4j.createFromArray(new float[][] {{0, 1}, {1, 0}}), 4, 1));
        AmpConfig config =
                AmpConfig.builder().precision(Precision.FLOAT).engine("onednn").build();
        INDArray before = stock.getParam("0_W").dup();
        try (MixedPrecision amp = MixedPrecision.enable(network, config)) {
            assertEquals("onednn", amp.plan().rows().get(1).engine());
            for (int step = 0; step < 3; step++) {
                stock.fit(data);
                network.fit(data);
            }
            Agreement.assertWithin("parameters", stock.params(), network.params(), 1e-5);
            Agreement.assertWithin("output", stock.output(features), network.output(features), 1e-5);
        }
        assertEquals(before, network.getParam("0_W"), "no gradient comes through");
        try (InferenceMode mode = MixedPrecision.inference(network, config.forInference())) {
            Agreement.assertWithin("inference", stock.output(features), network.output(features), 1e-5);
        }
    }
}
