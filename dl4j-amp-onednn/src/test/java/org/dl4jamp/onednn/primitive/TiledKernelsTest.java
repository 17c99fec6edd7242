package org.dl4jamp.onednn.primitive;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.UnaryOperator;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LocalResponseNormalization;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.memory.AlignedMemory;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Chains of layers that inference computes tile by tile give the very numbers of layers computed one by one. */
class TiledKernelsTest {
    private static final int WIDTH = 256;

    /** Passes until one is repeated. */
    private static final int BEFORE = 3;

    private static AmpConfig config(Precision precision) {
        return AmpConfig.builder().engine("onednn").precision(precision).build();
    }

    /** Returns more rows than the caches hold, no multiple of a tile. */
    private static int rows(Precision precision) {
        return (precision == Precision.FLOAT ? 4501 : 9001) * Work.threads();
    }

    private static ConvolutionLayer pointwise(int out) {
        return new ConvolutionLayer.Builder(1, 1)
                .nOut(out)
                .activation(Activation.IDENTITY)
                .build();
    }

    private static NeuralNetConfiguration.Builder builder() {
        return Networks.builder(new Sgd(1e-3));
    }

    /** The sine network of the README, with images of one row. */
    private static MultiLayerNetwork ofImages(int pixels) {
        return Networks.init(builder()
                .list()
                .layer(pointwise(WIDTH))
                .layer(new BatchNormalization())
                .layer(new ActivationLayer(Activation.RELU))
                .layer(pointwise(WIDTH))
                .layer(new BatchNormalization())
                .layer(new ActivationLayer(Activation.RELU))
                .layer(pointwise(3))
                .layer(new CnnLossLayer.Builder(LossFunction.MSE)
                        .activation(Activation.IDENTITY)
                        .build())
                .setInputType(InputType.convolutional(1, pixels, 2))
                .build());
    }

    private static MultiLayerNetwork ofVectors() {
        return Networks.init(builder()
                .list()
                .layer(dense())
                .layer(dense())
                .layer(dense())
                .layer(Networks.softmax(3))
                .setInputType(InputType.feedForward(20))
                .build());
    }

    private static DenseLayer dense() {
        return new DenseLayer.Builder().nOut(WIDTH).activation(Activation.RELU).build();
    }

    private static float[] numbers(INDArray array) {
        return array.dup('c').data().asFloat();
    }

    /** Returns what a copy of the network computes in its first pass, layer by layer. */
    private static float[] first(MultiLayerNetwork network, Precision precision, INDArray x) {
        MultiLayerNetwork copy = network.clone();
        try (InferenceMode mode = MixedPrecision.inference(copy, config(precision))) {
            return numbers(copy.output(x));
        }
    }

    private static void assertTiled(MultiLayerNetwork network, Precision precision, long... shape) {
        MultiLayerNetwork stock = network.clone();
        long held = AlignedMemory.held();
        long before = TiledKernels.tiles();
        try (InferenceMode mode = MixedPrecision.inference(network, config(precision))) {
            for (int pass = 0; pass < BEFORE + 3; pass++) {
                INDArray x = Networks.gaussian(pass, shape);
                INDArray output = network.output(x);
                assertArrayEquals(first(stock, precision, x), numbers(output), "pass " + pass);
            }
            INDArray x = Networks.gaussian(7, shape);
            Agreement.assertWithin(
                    "stock DL4J", stock.output(x), network.output(x), precision == Precision.FLOAT ? 1e-5 : 0.03);
            // The next pass has other weights: it's computed layer by layer, and those after it in tiles again.
            INDArray params = stock.params().mul(0.9);
            stock.setParams(params.dup());
            network.setParams(params.dup());
            for (int pass = 0; pass < BEFORE + 2; pass++) {
                assertArrayEquals(first(stock, precision, x), numbers(network.output(x)), "other weights " + pass);
            }
            assertComputed(4 * 4, before);
        }
        assertTrue(AlignedMemory.held() <= held, "memory of tiles");
    }

    /** With AMX, oneDNN may order weights by the number of rows, and then nothing runs in tiles. */
    private static void assertComputed(int tiles, long before) {
        assertTrue(
                OneDnnLibrary.instructionSet().contains("AMX") || TiledKernels.tiles() >= before + tiles,
                "tiles were computed");
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void convolutionsOfPixels(Precision precision) {
        int pixels = rows(precision);
        assertTiled(ofImages(pixels), precision, 1, 2, 1, pixels);
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void pixelsOfSeveralImagesAreRowsAsWell(Precision precision) {
        int pixels = rows(precision) / 3;
        assertTiled(ofImages(pixels), precision, 3, 2, 1, pixels);
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void denseLayersOfManyExamples(Precision precision) {
        assertTiled(ofVectors(), precision, rows(precision), 20);
    }

    @Test
    void fewExamplesAreComputedAtOnce() {
        MultiLayerNetwork network = ofVectors();
        long before = TiledKernels.tiles();
        try (InferenceMode mode = MixedPrecision.inference(network, config(Precision.FLOAT))) {
            for (int pass = 0; pass < BEFORE + 2; pass++) {
                network.output(Networks.gaussian(pass, 512, 20));
            }
        }
        assertEquals(before, TiledKernels.tiles());
    }

    /** Returns two pointwise layers, others between them and the loss of the last one. */
    private static ComputationGraphConfiguration graph(int pixels, UnaryOperator<GraphBuilder> others) {
        return others.apply(builder()
                        .graphBuilder()
                        .addInputs("in")
                        .addLayer("a", pointwise(WIDTH), "in")
                        .addLayer("aNorm", new BatchNormalization(), "a")
                        .addLayer("b", pointwise(WIDTH), "aNorm")
                        .addLayer("bNorm", new BatchNormalization(), "b"))
                .addLayer(
                        "out",
                        new CnnLossLayer.Builder(LossFunction.MSE)
                                .activation(Activation.IDENTITY)
                                .build(),
                        "last")
                .setOutputs("out")
                .setInputTypes(InputType.convolutional(1, pixels, 2))
                .build();
    }

    private static ElementWiseVertex sum() {
        return new ElementWiseVertex(ElementWiseVertex.Op.Add);
    }

    /** What a sum reads later has to be there as a whole. */
    private static ComputationGraphConfiguration skipping(int pixels) {
        return graph(pixels, builder -> builder.addLayer("c", pointwise(WIDTH), "bNorm")
                .addLayer("cNorm", new BatchNormalization(), "c")
                .addVertex("sum", sum(), "cNorm", "aNorm")
                .addLayer("last", pointwise(2), "sum"));
    }

    /** A normalization that the engine doesn't repeat reads what is between two kernels. */
    private static ComputationGraphConfiguration readBehind(int pixels) {
        return graph(pixels, builder -> builder.addLayer("c", pointwise(2), "bNorm")
                .addLayer("other", new LocalResponseNormalization(), "aNorm")
                .addLayer("d", pointwise(2), "other")
                .addVertex("last", sum(), "c", "d"));
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void whatALayerBehindTheListReadsIsThere(Precision precision) {
        int pixels = rows(precision);
        assertAsStock(Networks.init(readBehind(pixels)), precision, pixels);
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void whatIsReadLaterIsKept(Precision precision) {
        int pixels = rows(precision);
        assertAsStock(Networks.init(skipping(pixels)), precision, pixels);
    }

    private static void assertAsStock(ComputationGraph graph, Precision precision, int pixels) {
        ComputationGraph stock = graph.clone();
        try (InferenceMode mode = MixedPrecision.inference(graph, config(precision))) {
            for (int pass = 0; pass < BEFORE + 3; pass++) {
                INDArray x = Networks.gaussian(pass, 1, 2, 1, pixels);
                Agreement.assertWithin(
                        "pass " + pass,
                        stock.outputSingle(x),
                        graph.outputSingle(x),
                        precision == Precision.FLOAT ? 1e-5 : 0.03);
            }
        }
    }

    @Test
    void threadsComputeTilesOfTheirOwn() throws Exception {
        int examples = rows(Precision.FLOAT);
        MultiLayerNetwork network = ofVectors();
        MultiLayerNetwork stock = network.clone();
        List<INDArray> inputs = new ArrayList<>();
        List<float[]> expected = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            inputs.add(Networks.gaussian(i, examples, 20));
            expected.add(first(stock, Precision.FLOAT, inputs.get(i)));
        }
        ExecutorService threads = Executors.newFixedThreadPool(2);
        long before = TiledKernels.tiles();
        try (InferenceMode mode = MixedPrecision.inference(network, config(Precision.FLOAT))) {
            List<Future<?>> done = new ArrayList<>();
            for (int thread = 0; thread < 2; thread++) {
                int seed = thread;
                done.add(threads.submit(() -> {
                    Random random = new Random(seed);
                    for (int pass = 0; pass < 12; pass++) {
                        int which = random.nextInt(2);
                        assertArrayEquals(expected.get(which), numbers(network.output(inputs.get(which))));
                    }
                }));
            }
            for (Future<?> each : done) {
                each.get();
            }
            assertComputed(1, before);
        } finally {
            threads.shutdown();
        }
    }
}
