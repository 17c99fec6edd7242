package org.dl4jamp.onednn.linear;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.pooling.SideBySide;
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

/** Convolutions of small images in inference, which oneDNN is given side by side in one long row. */
class SideBySideTest {
    private record Sizes(int nIn, int nOut, int height, int width, ConvolutionMode mode, int rows, int columns) {
        private int[] kernel() {
            return new int[] {rows, columns};
        }

        private boolean areSideBySide(int minibatch) {
            Window window = new Window(2, kernel(), new int[] {1, 1}, new int[] {0, 0}, new int[] {1, 1}, mode);
            long weights = (long) nIn * nOut * rows * columns;
            return ConvolutionPrimitives.suitsSideBySide(window.over(height, width), minibatch, weights);
        }

        private MultiLayerNetwork network(Activation function, Random random) {
            MultiLayerNetwork network = Networks.init(Networks.builder(new Sgd(1e-3))
                    .list()
                    .layer(new ConvolutionLayer.Builder(kernel())
                            .nOut(nOut)
                            .convolutionMode(mode)
                            .activation(function)
                            .build())
                    .setInputType(InputType.convolutional(height, width, nIn))
                    .build());
            network.setParams(gaussian(random, 0.03, 1, network.numParams()));
            return network;
        }
    }

    static Stream<Arguments> cases() {
        List<Sizes> all = List.of(
                new Sizes(128, 160, 4, 4, ConvolutionMode.Same, 3, 3),
                new Sizes(217, 133, 7, 3, ConvolutionMode.Same, 3, 3),
                new Sizes(255, 73, 9, 4, ConvolutionMode.Same, 5, 4),
                new Sizes(416, 416, 8, 2, ConvolutionMode.Same, 1, 2),
                new Sizes(201, 208, 6, 6, ConvolutionMode.Truncate, 3, 3),
                new Sizes(512, 520, 3, 3, ConvolutionMode.Truncate, 3, 3));
        return Types.precisions().stream()
                .flatMap(precision -> Stream.concat(
                        all.stream().map(each -> Arguments.of(precision, Activation.RELU, each)),
                        Stream.of(Activation.IDENTITY, Activation.RATIONALTANH)
                                .map(function -> Arguments.of(precision, function, all.get(0)))));
    }

    /** The network is given other batch sizes in between, and single images, which are computed in place. */
    @ParameterizedTest
    @MethodSource("cases")
    void smallImagesAreComputedAsByDl4j(Precision precision, Activation function, Sizes sizes) {
        Random random = new Random(7);
        MultiLayerNetwork network = sizes.network(function, random);
        AmpConfig config =
                AmpConfig.builder().engine("onednn").precision(precision).build();
        MultiLayerNetwork stock = network.clone();
        try (InferenceMode mode = MixedPrecision.inference(network, config)) {
            for (int minibatch : new int[] {1, 5, 4, 9, 5}) {
                assertEquals(minibatch >= 4, sizes.areSideBySide(minibatch));
                INDArray images = gaussian(random, 1, minibatch, sizes.nIn(), sizes.height(), sizes.width());
                INDArray expected = stock.output(images);
                DataType type = precision == Precision.FLOAT ? DataType.FLOAT : DataType.BFLOAT16;
                Agreement.assertRoundedOnce(
                        minibatch + " images", expected, network.output(images).castTo(type));
            }
            assertEquals("onednn", mode.engine());
        }
    }

    @Test
    void otherWindowsAndFewMultiplicationsAreComputedInPlace() {
        int[] one = {1, 1};
        int[] three = {3, 3};
        Window plain = new Window(2, three, one, one, one, ConvolutionMode.Truncate);
        long weights = 512L * 512 * 9;
        assertTrue(ConvolutionPrimitives.suitsSideBySide(plain.over(4, 4), 4, weights));
        assertFalse(ConvolutionPrimitives.suitsSideBySide(plain.over(4, 4), 3, weights), "few images");
        assertFalse(ConvolutionPrimitives.suitsSideBySide(plain.over(4, 5), 4, weights), "longer rows");
        assertFalse(ConvolutionPrimitives.suitsSideBySide(plain.over(4, 4), 4, 64L * 64 * 9), "few channels");
        for (Window other : List.of(
                new Window(2, three, new int[] {1, 2}, one, one, ConvolutionMode.Truncate),
                new Window(2, three, one, one, new int[] {1, 2}, ConvolutionMode.Truncate),
                new Window(2, three, one, new int[] {1, 2}, one, ConvolutionMode.Truncate),
                new Window(2, new int[] {3, 1}, one, new int[] {1, 0}, one, ConvolutionMode.Truncate))) {
            WindowGeometry geometry = other.over(4, 4);
            assertFalse(ConvolutionPrimitives.suitsSideBySide(geometry, 4, weights), geometry::toString);
        }
    }

    @Test
    void rowsAreAsLongAsThoseOfAllImages() {
        assertEquals(
                Layout.channelsLast(DataType.FLOAT, 1, 3, 4, 50),
                SideBySide.seen(Layout.channelsLast(DataType.FLOAT, 10, 3, 4, 5)));
    }
}
