package org.dl4jamp.onednn.primitive;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.inference.Repetition;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.RefusingEngine;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.Sgd;

/** Lists that compute no more positions than are read give the very numbers of layers that are computed one by one. */
class SampledRunsTest {
    /** Passes until one is repeated. */
    private static final int BEFORE = 3;

    private static AmpConfig config(Precision precision) {
        return AmpConfig.builder().engine("onednn").precision(precision).build();
    }

    /** Layers and vertices behind a first convolution, and how many of them compute some of their positions. */
    private record Case(String name, int sampled, int channels, int height, int width, UnaryOperator<Net> layers) {
        private ComputationGraph graph() {
            Net net = layers.apply(new Net(height, width).convolution("in", "first", channels, 3));
            return net.build();
        }

        private INDArray input(int examples, int seed) {
            return Networks.gaussian(seed, examples, 3, height, width);
        }

        @Override
        public String toString() {
            return name;
        }
    }

    /** A graph in the making. Layers have an identity as their function; a convolution is normalized. */
    private static final class Net {
        private final GraphBuilder graph;
        private final List<String> outputs = new ArrayList<>();

        Net(int height, int width) {
            graph = Networks.builder(new Sgd(1e-2))
                    .graphBuilder()
                    .addInputs("in")
                    .setInputTypes(InputType.convolutional(height, width, 3));
        }

        Net convolution(String input, String name, int out, int kernel, int... stride) {
            int[] steps = stride.length == 0 ? new int[] {1, 1} : stride;
            graph.addLayer(
                            name + "_conv",
                            new ConvolutionLayer.Builder(kernel, kernel)
                                    .stride(steps)
                                    .nOut(out)
                                    .convolutionMode(ConvolutionMode.Same)
                                    .activation(Activation.IDENTITY)
                                    .build(),
                            input)
                    .addLayer(name, new BatchNormalization(), name + "_conv");
            return this;
        }

        Net relu(String input, String name) {
            graph.addLayer(name, new ActivationLayer(Activation.RELU), input);
            return this;
        }

        Net sum(String name, String... inputs) {
            graph.addVertex(name + "_sum", new ElementWiseVertex(ElementWiseVertex.Op.Add), inputs);
            return relu(name + "_sum", name);
        }

        Net pooling(String input, String name, SubsamplingLayer.PoolingType type, int kernel, int stride) {
            graph.addLayer(
                    name,
                    new SubsamplingLayer.Builder(type)
                            .kernelSize(kernel, kernel)
                            .stride(stride, stride)
                            .convolutionMode(ConvolutionMode.Same)
                            .build(),
                    input);
            return this;
        }

        /** Adds the block of a ResNet that leaves its input's shape as it is. */
        Net identity(String input, String name, int channels) {
            return convolution(input, name + "1", channels / 2, 1)
                    .relu(name + "1", name + "1relu")
                    .convolution(name + "1relu", name + "2", channels / 2, 3)
                    .relu(name + "2", name + "2relu")
                    .convolution(name + "2relu", name + "3", channels, 1)
                    .sum(name, name + "3", input);
        }

        /** Adds the block of a ResNet that takes steps. */
        Net projection(String input, String name, int channels, int... stride) {
            return convolution(input, name + "1", channels / 2, 1, stride)
                    .relu(name + "1", name + "1relu")
                    .convolution(name + "1relu", name + "2", channels, 3)
                    .convolution(input, name + "Shortcut", channels, 1, stride)
                    .sum(name, name + "2", name + "Shortcut");
        }

        /** Adds an output behind a convolution that reads all positions. */
        Net output(String input) {
            String name = "out" + outputs.size();
            convolution(input, name + "_last", 8, 3).relu(name + "_last", name + "_relu");
            graph.addLayer(name + "_pool", new GlobalPoolingLayer(PoolingType.AVG), name + "_relu")
                    .addLayer(name, Networks.softmax(4), name + "_pool");
            outputs.add(name);
            return this;
        }

        ComputationGraph build() {
            return Networks.init(
                    graph.setOutputs(outputs.toArray(String[]::new)).build());
        }
    }

    private static List<Case> all() {
        int[] two = {2, 2};
        return List.of(
                // Weights of narrow convolutions are few: those with steps are oneDNN's own.
                new Case("blocks of narrow convolutions", 4, 16, 13, 16, net -> net.identity("first", "a", 16)
                        .projection("a", "b", 32, two)
                        .identity("b", "c", 32)
                        .projection("c", "d", 32, two)
                        .output("d")),
                new Case("blocks of wide convolutions", 4, 256, 12, 9, net -> net.identity("first", "a", 256)
                        .projection("a", "b", 288, two)
                        .identity("b", "c", 288)
                        .projection("c", "d", 256, two)
                        .output("d")),
                new Case("steps of three, along one axis of one", 2, 32, 11, 10, net -> net.identity("first", "a", 32)
                        .projection("a", "b", 32, 3, 1)
                        .output("b")),
                new Case("pointwise convolutions in a row", 3, 160, 10, 10, net -> net.convolution("first", "a", 128, 5)
                        .convolution("a", "b", 160, 1)
                        .convolution("b", "c", 144, 1)
                        .convolution("c", "d", 160, 1, two)
                        .output("d")),
                new Case("maxima", 1, 32, 19, 14, net -> net.pooling(
                                "first", "a", SubsamplingLayer.PoolingType.MAX, 3, 2)
                        .projection("a", "b", 32, two)
                        .output("b")),
                new Case("averages of overlapping windows", 1, 160, 9, 10, net -> net.pooling(
                                "first", "a", SubsamplingLayer.PoolingType.AVG, 3, 1)
                        .projection("a", "b", 160, two)
                        .output("b")),
                new Case("a layer that copies positions before larger windows", 1, 32, 9, 9, net -> net.pooling(
                                "first", "a", SubsamplingLayer.PoolingType.MAX, 1, 2)
                        .convolution("a", "b", 32, 3)
                        .output("b")),
                new Case("a layer that copies positions twice", 1, 32, 9, 9, net -> net.pooling(
                                "first", "a", SubsamplingLayer.PoolingType.MAX, 1, 2)
                        .convolution("a", "b", 32, 3)
                        .convolution("a", "c", 32, 3)
                        .sum("d", "b", "c")
                        .output("d")),
                new Case("larger windows read all", 0, 32, 8, 8, net -> net.identity("first", "a", 32)
                        .projection("a", "b", 32, two)
                        .convolution("a", "c", 32, 3, two)
                        .sum("d", "b", "c")
                        .output("d")),
                new Case("an output reads all", 0, 32, 8, 8, net -> net.identity("first", "a", 32)
                        .projection("a", "b", 32, two)
                        .output("a")
                        .output("b")),
                new Case("readers with other steps", 0, 32, 12, 12, net -> net.identity("first", "a", 32)
                        .convolution("a", "b", 32, 1, two)
                        .convolution("a", "c", 32, 1, 1, 2)
                        .output("b")
                        .output("c")),
                new Case("a summand that is read later", 0, 32, 8, 8, net -> net.identity("first", "a", 32)
                        .projection("a", "b", 32, two)
                        .output("first")
                        .output("b")));
    }

    static Stream<Arguments> cases() {
        return Types.precisions().stream().flatMap(precision -> all().stream().map(of -> Arguments.of(precision, of)));
    }

    private static float[][] numbers(INDArray... arrays) {
        return Arrays.stream(arrays)
                .map(array -> array.dup('c').data().asFloat())
                .toArray(float[][]::new);
    }

    /** Returns what a copy of the network computes in its first pass, layer by layer. */
    private static float[][] first(ComputationGraph graph, Precision precision, INDArray x) {
        ComputationGraph copy = graph.clone();
        try (InferenceMode mode = MixedPrecision.inference(copy, config(precision))) {
            return numbers(copy.output(x));
        }
    }

    /** Gives biases and batch normalization other numbers than their initial ones; outputs stay far from saturation. */
    private static void randomize(ComputationGraph graph) {
        Map<String, Double> centers = Map.of("b", 0.0, "gamma", 1.0, "beta", 0.0, "mean", 0.0, "var", 1.5);
        int seed = 0;
        for (Layer layer : graph.getLayers()) {
            for (Map.Entry<String, INDArray> each : layer.paramTable().entrySet()) {
                INDArray numbers = each.getValue();
                if (centers.containsKey(each.getKey())) {
                    numbers.assign(
                            Networks.gaussian(seed++, numbers.shape()).muli(0.1).addi(centers.get(each.getKey())));
                }
            }
        }
    }

    @ParameterizedTest
    @MethodSource("cases")
    void theNumbersAreThoseOfAllPositions(Precision precision, Case of) {
        ComputationGraph stock = of.graph();
        randomize(stock);
        double error = precision == Precision.FLOAT ? 1e-5 : 0.1;
        for (int examples : new int[] {1, 3}) {
            long sampled = SampledRuns.sampled();
            long repeated = Repetition.repeated();
            ComputationGraph graph = stock.clone();
            try (InferenceMode mode = MixedPrecision.inference(graph, config(precision))) {
                for (int pass = 0; pass < BEFORE + 2; pass++) {
                    INDArray x = of.input(examples, 10 * examples + pass);
                    String what = examples + " examples, pass " + pass;
                    INDArray[] output = graph.output(x);
                    if (pass >= BEFORE) {
                        assertArrayEquals(first(stock, precision, x), numbers(output), what);
                    }
                    for (int i = 0; i < output.length; i++) {
                        Agreement.assertWithin(what, stock.output(x)[i], output[i], error);
                    }
                }
            }
            assertTrue(Repetition.repeated() > repeated, "no pass was repeated");
            assertSampled(of.sampled(), SampledRuns.sampled() - sampled, precision);
        }
    }

    /** With AVX2, and without native BFLOAT16, some of oneDNN's kernels of fewer positions read weights differently. */
    private static void assertSampled(long expected, long sampled, Precision precision) {
        DataType type = precision == Precision.FLOAT ? DataType.FLOAT : DataType.BFLOAT16;
        if (OneDnnLibrary.hasAvx512() && OneDnnLibrary.hasFast(type)) {
            assertEquals(expected, sampled);
        } else {
            assertTrue(sampled <= expected, () -> sampled + ", where " + expected + " are possible");
        }
    }

    /** Kernels of fewer positions are made with the list, of the second pass. */
    @Test
    void withoutSomeOfTheirKernelsAllPositionsAreComputed(@TempDir Path folder) throws IOException {
        Case of = new Case("narrow pointwise convolutions", 3, 24, 10, 10, net -> net.convolution("first", "a", 16, 5)
                .convolution("a", "b", 24, 1)
                .convolution("b", "c", 16, 1)
                .convolution("c", "d", 24, 1, 2, 2)
                .output("d"));
        ComputationGraph stock = of.graph();
        randomize(stock);
        RefusingEngine.whileFound(folder, () -> {
            List<Integer> asked = new ArrayList<>();
            AtomicInteger kernels = new AtomicInteger();
            RefusingEngine.refuse(number -> {
                kernels.set(number + 1);
                return false;
            });
            long all = sampled(of, stock, () -> asked.add(kernels.get()));
            assertSampled(of.sampled(), all, Precision.FLOAT);
            int beforeList = asked.get(0);
            assertTrue(kernels.get() > beforeList, "no kernel was made with the list");
            for (int which = beforeList; which < kernels.get(); which++) {
                int refused = which;
                RefusingEngine.refuse(number -> number == refused);
                assertTrue(sampled(of, stock, () -> {}) < all, "without kernel " + refused);
            }
        });
    }

    /** Runs passes, and returns how many of the runs of their list are sampled. */
    private static long sampled(Case of, ComputationGraph stock, Runnable afterEach) {
        long before = SampledRuns.sampled();
        long repeated = Repetition.repeated();
        AmpConfig config = AmpConfig.builder()
                .engine(RefusingEngine.NAME)
                .precision(Precision.FLOAT)
                .build();
        ComputationGraph graph = stock.clone();
        try (InferenceMode mode = MixedPrecision.inference(graph, config)) {
            for (int pass = 0; pass < BEFORE + 1; pass++) {
                INDArray x = of.input(2, pass);
                Agreement.assertWithin("pass " + pass, stock.outputSingle(x), graph.outputSingle(x), 1e-5);
                afterEach.run();
            }
        }
        assertTrue(Repetition.repeated() > repeated, "no pass was repeated");
        return SampledRuns.sampled() - before;
    }

    static Stream<Precision> precisions() {
        return Types.precisions().stream();
    }

    @ParameterizedTest
    @MethodSource("precisions")
    void sequencesInAMultiLayerNetworkAreSampledToo(Precision precision) {
        MultiLayerNetwork stock = Networks.init(Networks.builder(new Sgd(1e-2))
                .list()
                .layer(new Convolution1DLayer.Builder(3, 1)
                        .nOut(24)
                        .convolutionMode(ConvolutionMode.Same)
                        .build())
                .layer(new Convolution1DLayer.Builder(1, 1).nOut(40).build())
                .layer(new Convolution1DLayer.Builder(1, 2).nOut(24).build())
                .layer(new GlobalPoolingLayer(PoolingType.MAX))
                .layer(Networks.softmax(3))
                .setInputType(InputType.recurrent(5, 23))
                .build());
        MultiLayerNetwork network = stock.clone();
        long sampled = SampledRuns.sampled();
        try (InferenceMode mode = MixedPrecision.inference(network, config(precision))) {
            for (int pass = 0; pass < BEFORE + 2; pass++) {
                INDArray x = Networks.gaussian(pass, 4, 5, 23);
                MultiLayerNetwork copy = stock.clone();
                try (InferenceMode other = MixedPrecision.inference(copy, config(precision))) {
                    assertArrayEquals(numbers(copy.output(x))[0], numbers(mode.output(x))[0], "pass " + pass);
                }
            }
        }
        assertSampled(2, SampledRuns.sampled() - sampled, precision);
    }
}
