package org.dl4jamp.onednn.linear;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
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
import org.dl4jamp.inference.Repetition;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.pooling.Window;
import org.dl4jamp.onednn.pooling.WindowGeometry;
import org.dl4jamp.onednn.primitive.OneDnnLibrary;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.Sgd;

/** Convolutions of few windows over many channels in inference, which are products of copied windows. */
class FewWindowsTest {
    private record Case(String name, Layer layer, InputType input, Window window) {
        /** Returns the windows of a minibatch, as the engine sees them. */
        private WindowGeometry geometry() {
            return window.over(
                    Layout.dense(DataType.FLOAT, input.getShape(true)).extents());
        }

        private boolean areCopied(int minibatch, long weights) {
            long[] shape = input.getShape(true);
            shape[0] = minibatch;
            return WindowPrimitives.suit(geometry(), Layout.channelsLast(DataType.FLOAT, shape), weights);
        }

        private MultiLayerNetwork network(Random random) {
            MultiLayerNetwork network = Networks.init(Networks.builder(new Sgd(1e-3))
                    .list()
                    .layer(layer)
                    .setInputType(input)
                    .build());
            network.setParams(gaussian(random, 0.03, 1, network.numParams()));
            return network;
        }

        @Override
        public String toString() {
            return name;
        }
    }

    private static final int[] ONES = {1, 1, 1};

    private static int[] ones(int axes) {
        return Arrays.copyOf(ONES, axes);
    }

    private static Case ofImages(
            int nIn, int height, int width, int[] kernel, int[] stride, int[] dilation, ConvolutionMode mode) {
        Layer layer = new ConvolutionLayer.Builder(kernel)
                .stride(stride)
                .dilation(dilation)
                .nOut(416)
                .convolutionMode(mode)
                .activation(Activation.RELU)
                .build();
        String name =
                kernel[0] + "×" + kernel[1] + " over " + nIn + " channels of " + height + "×" + width + ", " + mode;
        return new Case(
                name,
                layer,
                InputType.convolutional(height, width, nIn),
                new Window(2, kernel, stride, new int[] {0, 0}, dilation, mode));
    }

    private static List<Case> all() {
        int[] one = ones(2);
        int[] two = {2, 2};
        int[] three = {3, 3};
        Layer sequences = new Convolution1DLayer.Builder(3, 1)
                .nOut(412)
                .convolutionMode(ConvolutionMode.Causal)
                .activation(Activation.TANH)
                .build();
        Layer volumes = new Convolution3D.Builder(2, 3, 2)
                .nOut(405)
                .convolutionMode(ConvolutionMode.Same)
                .dataFormat(Convolution3D.DataFormat.NCDHW)
                .activation(Activation.IDENTITY)
                .build();
        return List.of(
                ofImages(512, 4, 4, three, one, one, ConvolutionMode.Same),
                ofImages(301, 5, 3, three, one, one, ConvolutionMode.Same),
                ofImages(300, 7, 8, three, two, one, ConvolutionMode.Same),
                ofImages(288, 7, 6, three, one, two, ConvolutionMode.Truncate),
                ofImages(640, 2, 6, new int[] {1, 4}, one, one, ConvolutionMode.Same),
                new Case(
                        "sequences",
                        sequences,
                        InputType.recurrent(851, 7),
                        new Window(1, new int[] {3}, ones(1), new int[] {0}, ones(1), ConvolutionMode.Causal)),
                new Case(
                        "volumes",
                        volumes,
                        InputType.convolutional3D(Convolution3D.DataFormat.NCDHW, 2, 3, 2, 222),
                        new Window(
                                3, new int[] {2, 3, 2}, ones(3), new int[] {0, 0, 0}, ones(3), ConvolutionMode.Same)));
    }

    static Stream<Arguments> cases() {
        return Types.precisions().stream().flatMap(precision -> all().stream().map(of -> Arguments.of(precision, of)));
    }

    private static AmpConfig config(Precision precision) {
        return AmpConfig.builder().engine("onednn").precision(precision).build();
    }

    /** Two of the passes with one example are in a row, and a larger minibatch is computed in place. */
    @ParameterizedTest
    @MethodSource("cases")
    void theyAreComputedAsByDl4j(Precision precision, Case of) {
        Random random = new Random(7);
        MultiLayerNetwork network = of.network(random);
        MultiLayerNetwork stock = network.clone();
        DataType type = precision == Precision.FLOAT ? DataType.FLOAT : DataType.BFLOAT16;
        assertEquals(
                OneDnnLibrary.hasAvx512(),
                of.areCopied(1, network.getParam("0_W").length()));
        assertFalse(of.areCopied(17, network.getParam("0_W").length()));
        try (InferenceMode mode = MixedPrecision.inference(network, config(precision))) {
            assertEquals("onednn", mode.engine());
            for (int minibatch : new int[] {1, 17, 1, 1, 1, 1}) {
                long[] shape = of.input().getShape(true);
                shape[0] = minibatch;
                INDArray x = gaussian(random, 1, shape);
                Agreement.assertRoundedOnce(
                        minibatch + " examples",
                        stock.output(x),
                        network.output(x).castTo(type));
            }
        }
    }

    /** Their windows are in memory that other layers of the list use, too, and zeros are written in each pass. */
    @Test
    void listsOfThemAreRepeatedWithAResidualSum() {
        Random random = new Random(3);
        ComputationGraph graph = Networks.init(Networks.builder(new Sgd(1e-3))
                .graphBuilder()
                .addInputs("in")
                .setInputTypes(InputType.convolutional(4, 4, 352))
                .addLayer("first", convolution(Activation.RELU), "in")
                .addLayer("second", convolution(Activation.RELU), "first")
                .addLayer("third", convolution(Activation.IDENTITY), "second")
                .addVertex("sum", new ElementWiseVertex(ElementWiseVertex.Op.Add), "first", "third")
                .addLayer("out", Networks.softmax(5), "sum")
                .setOutputs("out")
                .build());
        graph.setParams(gaussian(random, 0.03, 1, graph.numParams()));
        ComputationGraph stock = graph.clone();
        try (InferenceMode mode = MixedPrecision.inference(graph, config(Precision.FLOAT))) {
            long before = Repetition.repeated();
            for (int pass = 0; pass < 8; pass++) {
                INDArray x = gaussian(random, 1, 1, 352, 4, 4);
                Agreement.assertWithin("pass " + pass, stock.outputSingle(x), mode.output(x), 1e-5);
            }
            assertTrue(Repetition.repeated() > before, "no pass was repeated");
        }
    }

    private static ConvolutionLayer convolution(Activation function) {
        return new ConvolutionLayer.Builder(3, 3)
                .nOut(352)
                .convolutionMode(ConvolutionMode.Same)
                .activation(function)
                .build();
    }

    @Test
    void otherConvolutionsAreLeftToOneDnn() {
        WindowGeometry geometry = all().get(0).geometry();
        Layout image = Layout.channelsLast(DataType.FLOAT, 1, 512, 4, 4);
        long weights = 1 << 20;
        assertEquals(OneDnnLibrary.hasAvx512(), WindowPrimitives.suit(geometry, image, weights));
        assertFalse(WindowPrimitives.suit(geometry, image, weights - 1), "few weights");
        assertFalse(WindowPrimitives.suit(geometry, image.as(DataType.BFLOAT16), weights), "BFLOAT16");
        assertFalse(
                WindowPrimitives.suit(geometry, Layout.dense(DataType.FLOAT, 1, 512, 4, 4), weights), "another order");
        assertFalse(
                WindowPrimitives.suit(geometry, Layout.channelsLast(DataType.FLOAT, 2, 512, 4, 4), weights),
                "many windows");
        WindowGeometry pointwise =
                new Window(2, ones(2), ones(2), new int[] {0, 0}, ones(2), ConvolutionMode.Same).over(4, 4);
        assertFalse(WindowPrimitives.suit(pointwise, image, weights), "windows of one position");
    }
}
