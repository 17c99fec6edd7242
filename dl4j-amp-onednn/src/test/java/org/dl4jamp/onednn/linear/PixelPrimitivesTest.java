package org.dl4jamp.onednn.linear;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.onednn.pooling.Window;
import org.dl4jamp.onednn.pooling.WindowGeometry;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.Sgd;

/** Pointwise convolutions that are computed as inner products of pixels. */
class PixelPrimitivesTest {
    private static final int CHANNELS = 112;
    private static final int WIDE = 176;

    private static AmpConfig config(Precision precision) {
        return AmpConfig.builder().engine("onednn").precision(precision).build();
    }

    private static WindowGeometry geometry(int kernel, int stride, int padding, int height, int width) {
        int[] strides = {1, stride};
        return new Window(
                        2,
                        new int[] {kernel, kernel},
                        strides,
                        new int[] {padding, padding},
                        new int[] {1, 1},
                        ConvolutionMode.Truncate)
                .over(height, width);
    }

    @Test
    void weightsThatAreKeptSuitStridesAndSmallImagesWhateverTheMinibatch() {
        long many = 1 << 14;
        assertTrue(PixelPrimitives.suitKept(geometry(1, 1, 0, 16, 16), many, false));
        assertTrue(PixelPrimitives.suitKept(geometry(1, 2, 0, 50, 50), many, false));
        assertFalse(PixelPrimitives.suitKept(geometry(1, 1, 0, 16, 17), many, false), "large images");
        assertFalse(PixelPrimitives.suitKept(geometry(1, 2, 0, 8, 8), many - 1, false), "few weights");
        assertFalse(PixelPrimitives.suitKept(geometry(3, 1, 0, 8, 8), many, false), "a window of several positions");
        assertFalse(PixelPrimitives.suitKept(geometry(1, 1, 1, 4, 4), many, false), "padding");
        assertFalse(PixelPrimitives.suitKept(geometry(1, 2, 0, 50, 50), many, true), "AVX2");
    }

    @Test
    void aSingleChannelInFp32IsAProductWhateverTheSizeOfImages() {
        assertTrue(PixelPrimitives.suitSingle(geometry(1, 1, 0, 128, 128), 1, DataType.FLOAT));
        assertFalse(PixelPrimitives.suitSingle(geometry(1, 1, 0, 128, 128), 2, DataType.FLOAT), "two channels");
        assertFalse(PixelPrimitives.suitSingle(geometry(1, 1, 0, 128, 128), 1, DataType.BFLOAT16), "BFLOAT16");
        assertFalse(PixelPrimitives.suitSingle(geometry(3, 1, 0, 128, 128), 1, DataType.FLOAT), "a window");
        assertFalse(PixelPrimitives.suitSingle(geometry(1, 2, 0, 128, 128), 1, DataType.FLOAT), "strides");
    }

    private static ConvolutionLayer pointwise(int out, int stride, CNN2DFormat format) {
        return new ConvolutionLayer.Builder(1, 1)
                .stride(stride, stride)
                .nOut(out)
                .convolutionMode(ConvolutionMode.Same)
                .activation(Activation.IDENTITY)
                .dataFormat(format)
                .build();
    }

    /**
     * A residual block whose last convolution is pointwise, as in ResNet-50, with a projection of every other pixel.
     */
    private static ComputationGraphConfiguration block(CNN2DFormat format, int size) {
        return Networks.builder(new Sgd(1e-3))
                .graphBuilder()
                .addInputs("in")
                .setInputTypes(InputType.convolutional(size, size, CHANNELS, format))
                .addLayer("projection", pointwise(WIDE, 2, format), "in")
                .addLayer("projected", normalization(format), "projection")
                .addLayer("reduction", pointwise(CHANNELS, 2, format), "in")
                .addLayer("reduced", normalization(format), "reduction")
                .addLayer("relu", new ActivationLayer(Activation.RELU), "reduced")
                .addLayer("expansion", pointwise(WIDE, 1, format), "relu")
                .addLayer("expanded", normalization(format), "expansion")
                .addVertex("sum", new ElementWiseVertex(ElementWiseVertex.Op.Add), "projected", "expanded")
                .addLayer("result", new ActivationLayer(Activation.RELU), "sum")
                .addLayer("last", pointwise(WIDE, 1, format), "result")
                .setOutputs("last")
                .build();
    }

    private static BatchNormalization normalization(CNN2DFormat format) {
        return new BatchNormalization.Builder().dataFormat(format).build();
    }

    static Stream<Arguments> blocks() {
        return Types.precisions().stream().flatMap(precision -> Stream.of(CNN2DFormat.values())
                .flatMap(format -> Stream.of(7, 12, 15, 24).map(size -> Arguments.of(precision, format, size))));
    }

    private static INDArray images(Random random, CNN2DFormat format, int minibatch, int size) {
        return format == CNN2DFormat.NCHW
                ? gaussian(random, 1, minibatch, CHANNELS, size, size)
                : gaussian(random, 1, minibatch, size, size, CHANNELS);
    }

    @ParameterizedTest
    @MethodSource("blocks")
    void residualBlocksAreComputedAsByDl4j(Precision precision, CNN2DFormat format, int size) {
        Random random = new Random(size);
        ComputationGraph graph = Networks.init(block(format, size));
        ComputationGraph stock = graph.clone();
        double error = precision == Precision.FLOAT ? 1e-5 : 0.02;
        try (InferenceMode mode = MixedPrecision.inference(graph, config(precision))) {
            for (int minibatch : new int[] {3, 1, 9, 3}) {
                INDArray x = images(random, format, minibatch, size);
                String what = minibatch + " images";
                Agreement.assertWithin(what, stock.outputSingle(x), graph.outputSingle(x), error);
                // Other parameters, and activations of single layers.
                INDArray weights = gaussian(
                        random, 0.1, stock.getLayer("expansion").getParam("W").shape());
                stock.getLayer("expansion").setParam("W", weights.dup());
                graph.getLayer("expansion").setParam("W", weights.dup());
                Agreement.assertWithin(what, stock.outputSingle(x), graph.outputSingle(x), error);
                Agreement.assertWithin(
                        what,
                        stock.feedForward(x, false).get("expansion"),
                        graph.feedForward(x, false).get("expansion"),
                        error);
            }
        }
    }

    private record Rank(Layer layer, InputType input) {
        @Override
        public String toString() {
            return layer.getClass().getSimpleName();
        }
    }

    private static Rank ofSequences(int out, int stride, Activation function, int steps) {
        Layer layer = new Convolution1DLayer.Builder(1, stride)
                .nIn(CHANNELS)
                .nOut(out)
                .activation(function)
                .build();
        return new Rank(layer, InputType.recurrent(CHANNELS, steps));
    }

    private static Rank ofImages(CNN2DFormat format, Activation function) {
        Layer layer = new ConvolutionLayer.Builder(1, 1)
                .nIn(CHANNELS)
                .nOut(1)
                .activation(function)
                .dataFormat(format)
                .build();
        return new Rank(layer, InputType.convolutional(9, 13, CHANNELS, format));
    }

    private static Rank ofVolumes(int out, int stride) {
        Layer layer = new Convolution3D.Builder(new int[] {1, 1, 1}, new int[] {1, stride, stride})
                .nIn(CHANNELS)
                .nOut(out)
                .activation(Activation.TANH)
                .dataFormat(Convolution3D.DataFormat.NCDHW)
                .build();
        return new Rank(layer, InputType.convolutional3D(Convolution3D.DataFormat.NCDHW, 3, 5, 4, CHANNELS));
    }

    static Stream<Arguments> ranks() {
        List<Rank> ranks = List.of(
                ofSequences(WIDE, 2, Activation.TANH, 9),
                ofSequences(WIDE, 1, Activation.RELU, 11),
                ofSequences(1, 1, Activation.SIGMOID, 70),
                ofImages(CNN2DFormat.NCHW, Activation.RELU),
                ofImages(CNN2DFormat.NHWC, Activation.IDENTITY),
                ofVolumes(WIDE, 2),
                ofVolumes(1, 1));
        return Types.precisions().stream()
                .flatMap(precision -> ranks.stream().map(rank -> Arguments.of(precision, rank)));
    }

    @ParameterizedTest
    @MethodSource("ranks")
    void arraysOfOtherRanksAndSingleChannelsAreComputedAsByDl4j(Precision precision, Rank rank) {
        Random random = new Random(3);
        MultiLayerNetwork network = Networks.init(Networks.builder(new Sgd(1e-3))
                .list()
                .layer(rank.layer())
                .setInputType(rank.input())
                .build());
        network.setParams(gaussian(random, 0.1, 1, network.numParams()));
        MultiLayerNetwork stock = network.clone();
        DataType type = precision == Precision.FLOAT ? DataType.FLOAT : DataType.BFLOAT16;
        try (InferenceMode mode = MixedPrecision.inference(network, config(precision))) {
            assertEquals("onednn", mode.engine());
            for (int minibatch : new int[] {2, 5}) {
                long[] shape = rank.input().getShape(true);
                shape[0] = minibatch;
                INDArray x = gaussian(random, 1, shape);
                Agreement.assertWithin(
                        minibatch + " examples",
                        stock.output(x),
                        network.output(x).castTo(type).castTo(DataType.FLOAT),
                        type == DataType.FLOAT ? 1e-5 : 0.02);
            }
        }
    }
}
