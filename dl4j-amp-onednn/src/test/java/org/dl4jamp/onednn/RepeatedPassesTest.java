package org.dl4jamp.onednn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LocalResponseNormalization;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.ZeroPaddingLayer;
import org.deeplearning4j.nn.conf.preprocessor.BaseInputPreProcessor;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.util.ModelSerializer;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.inference.Repetition;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.evaluation.classification.Evaluation;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions;

/**
 * Passes that the engine repeats as one list of primitives give the very numbers of those computed layer by layer,
 * whatever happens between them. The first pass after inference mode was entered is computed layer by layer.
 */
class RepeatedPassesTest {
    /** Passes of one thread until one is repeated. */
    static final int BEFORE = 3;

    static AmpConfig config(Precision precision) {
        return AmpConfig.builder()
                .engine(OneDnnEngine.NAME)
                .precision(precision)
                .build();
    }

    private static ConvolutionLayer convolution(int out, int kernel) {
        return new ConvolutionLayer.Builder(kernel, kernel)
                .nOut(out)
                .convolutionMode(ConvolutionMode.Same)
                .activation(Activation.IDENTITY)
                .build();
    }

    static OutputLayer softmax() {
        return new OutputLayer.Builder(LossFunctions.LossFunction.MCXENT)
                .nOut(4)
                .activation(Activation.SOFTMAX)
                .build();
    }

    /** Adds two convolutions, and what is to be added to them. */
    private static ComputationGraphConfiguration.GraphBuilder block(
            ComputationGraphConfiguration.GraphBuilder builder, int channels, String input, String summand) {
        return builder.addLayer("a", convolution(channels, 3), input)
                .addLayer("aNorm", new BatchNormalization(), "a")
                .addLayer("aRelu", new ActivationLayer(Activation.RELU), "aNorm")
                .addLayer("b", convolution(channels, 1), "aRelu")
                .addLayer("bNorm", new BatchNormalization(), "b")
                .addVertex("sum", new ElementWiseVertex(ElementWiseVertex.Op.Add), "bNorm", summand)
                .addLayer("relu", new ActivationLayer(Activation.RELU), "sum");
    }

    /** A residual block between padding and pooling, with running statistics of some steps. */
    private static ComputationGraph residual(WorkspaceMode workspaces) {
        ComputationGraphConfiguration.GraphBuilder builder = Networks.builder(new Adam(1e-2))
                .trainingWorkspaceMode(workspaces)
                .inferenceWorkspaceMode(workspaces)
                .graphBuilder()
                .addInputs("in")
                .addLayer("pad", new ZeroPaddingLayer(1, 1), "in")
                .addLayer("stem", convolution(8, 3), "pad")
                .addLayer("stemNorm", new BatchNormalization(), "stem")
                .addLayer("stemRelu", new ActivationLayer(Activation.RELU), "stemNorm");
        ComputationGraph graph = new ComputationGraph(block(builder, 8, "stemRelu", "stemRelu")
                .addLayer(
                        "pool",
                        new SubsamplingLayer.Builder(SubsamplingLayer.PoolingType.MAX)
                                .kernelSize(2, 2)
                                .stride(2, 2)
                                .build(),
                        "relu")
                .addLayer(
                        "dense",
                        new DenseLayer.Builder()
                                .nOut(12)
                                .activation(Activation.RELU)
                                .build(),
                        "pool")
                .addLayer("out", softmax(), "dense")
                .setOutputs("out")
                .setInputTypes(InputType.convolutional(10, 10, 3))
                .build());
        graph.init();
        for (int i = 0; i < 3; i++) {
            graph.fit(batch(8, i));
        }
        return graph;
    }

    private static MultiLayerNetwork chain() {
        MultiLayerNetwork network = Networks.init(Networks.builder(new Adam(1e-2))
                .list()
                .layer(convolution(8, 3))
                .layer(new BatchNormalization())
                .layer(new ActivationLayer(Activation.RELU))
                .layer(convolution(6, 3))
                .layer(new BatchNormalization())
                .layer(new DenseLayer.Builder()
                        .nOut(12)
                        .activation(Activation.RELU)
                        .build())
                .layer(softmax())
                .setInputType(InputType.convolutional(10, 10, 3))
                .build());
        for (int i = 0; i < 3; i++) {
            network.fit(batch(8, i));
        }
        return network;
    }

    private static DataSet batch(int examples, int seed) {
        Nd4j.getRandom().setSeed(seed);
        INDArray labels = Nd4j.zeros(examples, 4);
        for (int i = 0; i < examples; i++) {
            labels.putScalar(i, (i + seed) % 4, 1);
        }
        return new DataSet(input(examples, seed), labels);
    }

    private static INDArray input(int examples, int seed) {
        return Networks.gaussian(seed, examples, 3, 10, 10);
    }

    private static float[] numbers(INDArray array) {
        return array.dup('c').data().asFloat();
    }

    /** Returns what a copy of the network in inference mode computes in its first pass. */
    private static float[] first(ComputationGraph graph, AmpConfig config, INDArray x) {
        ComputationGraph copy = graph.clone();
        try (InferenceMode mode = MixedPrecision.inference(copy, config)) {
            return numbers(copy.output(x)[0]);
        }
    }

    private static float[] first(MultiLayerNetwork network, AmpConfig config, INDArray x) {
        MultiLayerNetwork copy = network.clone();
        try (InferenceMode mode = MixedPrecision.inference(copy, config)) {
            return numbers(copy.output(x));
        }
    }

    /** Runs passes until they're repeated, and some more. */
    private static void assertRepeated(ComputationGraph graph, ComputationGraph plain, AmpConfig config, int seed) {
        long before = Repetition.repeated();
        for (int i = 0; i < BEFORE + 7; i++) {
            INDArray x = input(2, seed + i);
            INDArray output = graph.output(x)[0];
            assertArrayEquals(first(plain, config, x), numbers(output), "pass " + i);
            output.close();
        }
        assertTrue(Repetition.repeated() >= before + 2, "repeated");
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void aGraphGivesTheNumbersOfItsFirstPass(Precision precision) {
        ComputationGraph plain = residual(WorkspaceMode.ENABLED);
        ComputationGraph graph = plain.clone();
        try (InferenceMode mode = MixedPrecision.inference(graph, config(precision))) {
            assertRepeated(graph, plain, config(precision), 0);
            List<INDArray> kept = new ArrayList<>();
            List<float[]> numbers = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                kept.add(graph.output(input(2, 50 + i))[0]);
                numbers.add(numbers(kept.get(i)));
            }
            for (int i = 0; i < 5; i++) {
                assertArrayEquals(numbers.get(i), numbers(kept.get(i)), "an output that was kept");
                assertArrayEquals(first(plain, config(precision), input(2, 50 + i)), numbers.get(i));
            }
        }
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void aNetworkOfLayersInARowGivesTheNumbersOfItsFirstPass(Precision precision) {
        MultiLayerNetwork plain = chain();
        MultiLayerNetwork network = plain.clone();
        long before = Repetition.repeated();
        try (InferenceMode mode = MixedPrecision.inference(network, config(precision))) {
            for (int i = 0; i < BEFORE + 3; i++) {
                INDArray x = input(2, i);
                INDArray output = network.output(x);
                assertArrayEquals(first(plain, config(precision), x), numbers(output), "pass " + i);
                output.close();
            }
        }
        assertEquals(before + 3, Repetition.repeated());
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void changedParametersCountFromTheNextPass(Precision precision) {
        ComputationGraph graph = residual(WorkspaceMode.ENABLED);
        try (InferenceMode mode = MixedPrecision.inference(graph, config(precision))) {
            ComputationGraph plain = residual(WorkspaceMode.ENABLED);
            assertRepeated(graph, plain, config(precision), 0);
            plain.setParams(plain.params().mul(0.5));
            graph.setParams(plain.params().dup());
            assertRepeated(graph, plain, config(precision), 10);
            for (String name : new String[] {"a", "dense"}) {
                plain.getLayer(name).getParam("W").muli(-1);
                graph.getLayer(name).getParam("W").muli(-1);
                assertRepeated(graph, plain, config(precision), 20);
            }
            plain.getLayer("bNorm").getParam("beta").addi(0.5);
            graph.getLayer("bNorm").getParam("beta").addi(0.5);
            assertRepeated(graph, plain, config(precision), 30);
        }
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void aNetworkIsSavedInTheMiddleAndTrainedBetweenTwoModes(Precision precision) throws Exception {
        ComputationGraph graph = residual(WorkspaceMode.ENABLED);
        AmpConfig config = config(precision);
        for (int i = 0; i < 2; i++) {
            ComputationGraph plain = graph.clone();
            try (InferenceMode mode = MixedPrecision.inference(graph, config)) {
                assertRepeated(graph, plain, config, 10 * i);
                ByteArrayOutputStream saved = new ByteArrayOutputStream();
                ModelSerializer.writeModel(graph, saved, true);
                ComputationGraph restored =
                        ModelSerializer.restoreComputationGraph(new ByteArrayInputStream(saved.toByteArray()), true);
                assertArrayEquals(first(restored, config, input(2, 7)), numbers(graph.output(input(2, 7))[0]));
            }
            graph.fit(batch(8, 9 + i));
        }
    }

    /** Another thread's pass of another shape takes the new weights over in the order of its own kernels only. */
    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void changedParametersCountAlsoIfAnotherThreadNoticesThemFirst(Precision precision) throws Exception {
        ComputationGraph plain = residual(WorkspaceMode.ENABLED);
        ComputationGraph graph = plain.clone();
        AmpConfig config = config(precision);
        ExecutorService pool = Executors.newSingleThreadExecutor();
        try (InferenceMode mode = MixedPrecision.inference(graph, config)) {
            for (int round = 0; round < 3; round++) {
                assertRepeated(graph, plain, config, 10 * round);
                plain.setParams(plain.params().mul(0.9));
                graph.setParams(plain.params().dup());
                INDArray other = input(9, round);
                float[] expected = first(plain, config, other);
                assertArrayEquals(
                        expected,
                        pool.submit(() -> numbers(graph.output(other)[0])).get());
                long before = Repetition.repeated();
                INDArray x = input(2, 70 + round);
                assertArrayEquals(first(plain, config, x), numbers(graph.output(x)[0]));
                assertEquals(before, Repetition.repeated());
            }
        } finally {
            pool.shutdown();
        }
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void otherShapesComeBetween(Precision precision) {
        ComputationGraph plain = residual(WorkspaceMode.ENABLED);
        ComputationGraph graph = plain.clone();
        try (InferenceMode mode = MixedPrecision.inference(graph, config(precision))) {
            int seed = 0;
            for (int examples : new int[] {1, 1, 1, 1, 1, 4, 1, 4, 4, 4, 4, 4, 1, 1, 1, 1, 1, 30, 1, 1, 1, 1, 4, 30}) {
                INDArray x = input(examples, seed++);
                assertArrayEquals(
                        first(plain, config(precision), x),
                        numbers(graph.output(x)[0]),
                        "pass " + seed + " of " + examples);
            }
            INDArray whole = input(2, 7).permute(0, 1, 3, 2);
            for (int i = 0; i < BEFORE + 2; i++) {
                assertArrayEquals(first(plain, config(precision), whole), numbers(graph.output(whole)[0]), "strides");
                INDArray part = input(6, i).get(NDArrayIndex.interval(2, 4));
                assertArrayEquals(first(plain, config(precision), part), numbers(graph.output(part)[0]), "a view");
            }
        }
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void passesOfOtherKindsComeBetween(Precision precision) {
        ComputationGraph plain = residual(WorkspaceMode.ENABLED);
        ComputationGraph graph = plain.clone();
        AmpConfig config = config(precision);
        try (InferenceMode mode = MixedPrecision.inference(graph, config)) {
            ComputationGraph single = plain.clone();
            try (InferenceMode other = MixedPrecision.inference(single, config)) {
                for (int i = 0; i < 4; i++) {
                    INDArray x = input(2, i);
                    DataSet batch = batch(2, i);
                    assertRepeated(graph, plain, config, 10 * i);
                    Map<String, INDArray> expected = single.feedForward(x, false);
                    Map<String, INDArray> activations = graph.feedForward(x, false);
                    assertArrayEquals(first(plain, config, input(2, 99)), numbers(graph.output(input(2, 99))[0]));
                    expected.forEach((name, array) -> assertArrayEquals(
                            numbers(array.castTo(DataType.FLOAT)),
                            numbers(activations.get(name).castTo(DataType.FLOAT)),
                            name));
                    assertEquals(single.score(batch), graph.score(batch), "score");
                    INDArray named = graph.output(List.of("a", "relu"), false, new INDArray[] {x}, null)[0];
                    assertArrayEquals(
                            numbers(expected.get("a").castTo(DataType.FLOAT)), numbers(named.castTo(DataType.FLOAT)));
                    assertArrayEquals(first(plain, config, x), numbers(graph.output(x)[0]), "after others");
                    Evaluation evaluation = graph.evaluate(new ExistingDataSetIterator(Collections.nCopies(6, batch)));
                    assertEquals(12, evaluation.getNumRowCounter());
                }
            }
        }
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void specialNumbersComeBetween(Precision precision) {
        ComputationGraph plain = residual(WorkspaceMode.ENABLED);
        ComputationGraph graph = plain.clone();
        AmpConfig config = config(precision);
        try (InferenceMode mode = MixedPrecision.inference(graph, config)) {
            for (double special : new double[] {Double.NaN, Double.POSITIVE_INFINITY, 1e25}) {
                assertRepeated(graph, plain, config, 3);
                INDArray x = input(2, 5).putScalar(3, special);
                assertArrayEquals(first(plain, config, x), numbers(graph.output(x)[0]), "with " + special);
                assertArrayEquals(first(plain, config, input(2, 6)), numbers(graph.output(input(2, 6))[0]), "after it");
            }
        }
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void aPassThatFailsOrALayerThatIsCalledDirectlyLeavesNothing(Precision precision) throws Exception {
        // DL4J leaves workspaces open in a thread whose pass fails.
        ExecutorService pool = Executors.newSingleThreadExecutor();
        try {
            pool.submit(() -> failAndCallLayers(precision)).get();
        } finally {
            pool.shutdown();
        }
    }

    private static void failAndCallLayers(Precision precision) {
        ComputationGraph plain = residual(WorkspaceMode.ENABLED);
        ComputationGraph graph = plain.clone();
        AmpConfig config = config(precision);
        try (InferenceMode mode = MixedPrecision.inference(graph, config)) {
            assertRepeated(graph, plain, config, 3);
            INDArray wrong = Nd4j.rand(DataType.FLOAT, 2, 5, 10, 10);
            assertThrows(RuntimeException.class, () -> graph.output(wrong));
            assertArrayEquals(first(plain, config, input(2, 6)), numbers(graph.output(input(2, 6))[0]), "after it");
            assertRepeated(graph, plain, config, 30);
            INDArray direct = graph.getLayer("stem")
                    .activate(Nd4j.ones(DataType.FLOAT, 2, 3, 12, 12), false, LayerWorkspaceMgr.noWorkspaces());
            assertEquals(8, direct.size(1));
            assertArrayEquals(first(plain, config, input(2, 8)), numbers(graph.output(input(2, 8))[0]), "after it");
        }
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void withoutWorkspacesNothingIsRepeated(Precision precision) {
        ComputationGraph plain = residual(WorkspaceMode.NONE);
        ComputationGraph graph = plain.clone();
        long before = Repetition.repeated();
        try (InferenceMode mode = MixedPrecision.inference(graph, config(precision))) {
            for (int i = 0; i < BEFORE + 3; i++) {
                INDArray x = input(2, i);
                assertArrayEquals(first(plain, config(precision), x), numbers(graph.output(x)[0]));
            }
        }
        assertEquals(before, Repetition.repeated());
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void threadsRepeatTheirOwnPasses(Precision precision) throws Exception {
        ComputationGraph plain = residual(WorkspaceMode.ENABLED);
        ComputationGraph graph = plain.clone();
        AmpConfig config = config(precision);
        int threads = 3;
        List<float[]> expected = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            expected.add(first(plain, config, input(1 + i % threads, i)));
        }
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        long before = Repetition.repeated();
        try (InferenceMode mode = MixedPrecision.inference(graph, config)) {
            CyclicBarrier start = new CyclicBarrier(threads);
            List<Future<?>> runs = new ArrayList<>();
            for (int t = 0; t < threads; t++) {
                int own = t;
                runs.add(pool.submit(() -> {
                    start.await();
                    for (int round = 0; round < 3; round++) {
                        for (int i = own; i < 40; i += threads) {
                            assertArrayEquals(
                                    expected.get(i), numbers(graph.output(input(1 + i % threads, i))[0]), "pass " + i);
                        }
                    }
                    return null;
                }));
            }
            for (Future<?> run : runs) {
                run.get();
            }
        } finally {
            pool.shutdown();
            assertTrue(pool.awaitTermination(10, TimeUnit.SECONDS));
        }
        assertTrue(Repetition.repeated() > before + 10, "repeated " + (Repetition.repeated() - before));
    }

    /** The list ends before a sum with another input of the network: its address is another in each pass. */
    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void anotherInputEndsTheList(Precision precision) {
        ComputationGraphConfiguration.GraphBuilder builder =
                Networks.builder(new Adam(1e-2)).graphBuilder().addInputs("in", "other");
        ComputationGraph plain = new ComputationGraph(block(builder, 3, "in", "other")
                .addLayer("out", softmax(), "relu")
                .setOutputs("out")
                .setInputTypes(InputType.convolutional(10, 10, 3), InputType.convolutional(10, 10, 3))
                .build());
        plain.init();
        ComputationGraph graph = plain.clone();
        AmpConfig config = config(precision);
        try (InferenceMode mode = MixedPrecision.inference(graph, config)) {
            for (int i = 0; i < 3 * BEFORE; i++) {
                INDArray[] inputs = {input(2, i), input(2, 100 + i)};
                ComputationGraph copy = plain.clone();
                try (InferenceMode other = MixedPrecision.inference(copy, config)) {
                    assertArrayEquals(numbers(copy.output(inputs)[0]), numbers(graph.output(inputs)[0]), "pass " + i);
                }
            }
        }
    }

    /** Writes into what it's given, which no kernel does. */
    private static final class Halving extends BaseInputPreProcessor {
        private static final long serialVersionUID = 1L;

        @Override
        public INDArray preProcess(INDArray input, int miniBatchSize, LayerWorkspaceMgr workspaceMgr) {
            return input.muli(0.5);
        }

        @Override
        public INDArray backprop(INDArray output, int miniBatchSize, LayerWorkspaceMgr workspaceMgr) {
            return output.mul(0.5);
        }

        @Override
        public Halving clone() {
            return new Halving();
        }

        @Override
        public InputType getOutputType(InputType inputType) {
            return inputType;
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"preprocessor", "layer"})
    void theListEndsBeforeWhatComputesOtherwise(String kind) {
        AmpConfig config = config(Precision.FLOAT);
        var list = Networks.builder(new Adam(1e-2))
                .list()
                .layer(convolution(8, 3))
                .layer(new BatchNormalization())
                .layer(new ActivationLayer(Activation.RELU));
        if (kind.equals("layer")) {
            list.layer(convolution(8, 3)).layer(new BatchNormalization()).layer(new LocalResponseNormalization());
        } else {
            list.inputPreProcessor(3, new Halving());
        }
        MultiLayerNetwork plain = Networks.init(list.layer(convolution(6, 3))
                .layer(new BatchNormalization())
                .layer(softmax())
                .setInputType(InputType.convolutional(10, 10, 3))
                .build());
        MultiLayerNetwork network = plain.clone();
        long before = Repetition.repeated();
        try (InferenceMode mode = MixedPrecision.inference(network, config)) {
            for (int i = 0; i < BEFORE + 3; i++) {
                INDArray x = input(2, i);
                assertArrayEquals(first(plain, config, x), numbers(network.output(x)), "pass " + i);
            }
        }
        assertEquals(before + 3, Repetition.repeated());
    }
}
