package org.dl4jamp.onednn.linear;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Random;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive_desc;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.pooling.Window;
import org.dl4jamp.onednn.pooling.WindowGeometry;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.OneDnnLibrary;
import org.dl4jamp.onednn.primitive.Work;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.Sgd;

/** Convolutions in inference mode, in the implementation of oneDNN's that is the fastest on this CPU. */
class ConvolutionPrimitivesTest {
    private static final int OUT = 32;

    private static WindowGeometry geometry(int kernel, int stride, int size) {
        return new Window(
                        2,
                        new int[] {kernel, kernel},
                        new int[] {stride, stride},
                        new int[] {kernel / 2, kernel / 2},
                        new int[] {1, 1},
                        ConvolutionMode.Truncate)
                .over(size, size);
    }

    /** Returns oneDNN's name of the implementation that computes a convolution of one image. */
    private static String implementation(
            ConvolutionPrimitives<?> primitives, WindowGeometry geometry, int size, long channels, long made) {
        long[] windows = geometry.output();
        long kernel = geometry.axes().get(0).kernel();
        return OneDnnContext.make("a convolution", Work.ofNumbers(1), () -> {
            memory.desc input =
                    Layout.channelsLast(DataType.FLOAT, 1, channels, size, size).descriptor();
            memory.desc output = Layout.channelsLast(DataType.FLOAT, 1, made, windows[0], windows[1])
                    .descriptor();
            primitive_desc described = primitives.forward(
                    input,
                    Layout.any(DataType.FLOAT, made, channels, kernel, kernel),
                    Layout.dense(DataType.FLOAT, made).descriptor(),
                    output,
                    OneDnnContext.attributes());
            return described.impl_info_str().getString().replaceAll(":.*", "");
        });
    }

    private static void assertImplementation(String withAvx2, int kernel, int stride, int size, long channels) {
        assertImplementation(withAvx2, kernel, stride, size, channels, OUT);
    }

    private static void assertImplementation(
            String withAvx2, int kernel, int stride, int size, long channels, long made) {
        WindowGeometry geometry = geometry(kernel, stride, size);
        String first = implementation(ConvolutionPrimitives.training(geometry), geometry, size, channels, made);
        String taken = implementation(
                ConvolutionPrimitives.inference(geometry, channels, made), geometry, size, channels, made);
        assertEquals(OneDnnLibrary.isAvx2() && !withAvx2.isEmpty() ? withAvx2 : first, taken);
    }

    @Test
    void theFastestImplementationIsTaken() {
        assertImplementation("jit", 7, 2, 63, 3);
        assertImplementation("jit", 5, 1, 28, 1);
        assertImplementation("", 3, 1, 28, 8);
        assertImplementation("jit_1x1", 1, 1, 28, 64);
        assertImplementation("jit_1x1", 1, 1, 4, 2048);
    }

    @Test
    void theFastestImplementationOfLargeWindowsDependsOnTheirChannels() {
        for (int made : new int[] {26, 32, 50, 64, 128, 192}) {
            assertImplementation("jit", 5, 1, 14, 20, made);
        }
        for (int made : new int[] {16, 24, 40, 48, 96, 160}) {
            assertImplementation("", 5, 1, 14, 20, made);
        }
        assertImplementation("jit", 7, 1, 28, 64, 32);
        assertImplementation("", 5, 1, 13, 20, 32);
        assertImplementation("", 5, 2, 56, 20, 32);
        assertImplementation("", 3, 1, 14, 20, 32);
    }

    @Test
    void theFirstImplementationIsTakenWhereTheFastestIsNot() {
        // oneDNN has no pointwise one for images whose size isn't a multiple of the stride.
        assertImplementation("", 1, 2, 7, 1024);
    }

    @ParameterizedTest
    @CsvSource({
        "1, 5, 1, 0, 1, 28",
        "3, 7, 2, 3, 1, 33",
        "4, 3, 1, 1, 1, 9",
        "3, 3, 2, 0, 2, 17",
        "2, 4, 3, 2, 1, 11",
        "5, 3, 1, 1, 1, 9",
        "20, 5, 1, 2, 1, 14",
        "1, 1, 1, 0, 1, 8",
        "3, 1, 2, 0, 1, 7",
        "64, 1, 2, 0, 1, 7",
        "40, 1, 1, 0, 1, 5"
    })
    void imagesAreComputedAsByDl4j(int channels, int kernel, int stride, int padding, int dilation, int size) {
        MultiLayerNetwork network = Networks.init(Networks.builder(new Sgd(1e-3))
                .list()
                .layer(new ConvolutionLayer.Builder(kernel, kernel)
                        .stride(stride, stride)
                        .padding(padding, padding)
                        .dilation(dilation, dilation)
                        .nOut(OUT)
                        .activation(Activation.RELU)
                        .build())
                .setInputType(InputType.convolutional(size, size, channels))
                .build());
        Random random = new Random(channels);
        network.setParams(gaussian(random, 0.2, 1, network.numParams()));
        MultiLayerNetwork stock = network.clone();
        AmpConfig config =
                AmpConfig.builder().engine("onednn").precision(Precision.FLOAT).build();
        try (InferenceMode mode = MixedPrecision.inference(network, config)) {
            assertEquals("onednn", mode.engine());
            for (int minibatch : new int[] {1, 6}) {
                INDArray x = gaussian(random, 1, minibatch, channels, size, size);
                Agreement.assertWithin(minibatch + " images", stock.output(x), network.output(x), 1e-5);
            }
        }
    }
}
