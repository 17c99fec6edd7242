package org.dl4jamp.onednn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.inference.Repetition;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions;

/**
 * {@link InferenceMode#output} returns the very numbers of the network's own output, whatever happens between calls.
 */
class DirectOutputTest {
    /** Networks of one input and one output, with features of a minibatch for a seed. */
    @SuppressWarnings("ImmutableEnumChecker")
    private enum Kind {
        /** Layers that compute their own activations, images as rows, as LeNet takes them. */
        IMAGES_AS_ROWS(DirectOutputTest::rows, DirectOutputTest::imagesAsRows),
        /** Groups of layers, and a last layer without weights. */
        GROUPS_BEFORE_A_LOSS(DirectOutputTest::images, DirectOutputTest::groupsBeforeALoss),
        /** A graph, images of one position before the output layer. */
        GRAPH(DirectOutputTest::images, DirectOutputTest::graph),
        DENSE(DirectOutputTest::rows, DirectOutputTest::dense);

        private final IntFunction<INDArray> features;
        private final Supplier<Model> network;

        Kind(IntFunction<INDArray> features, Supplier<Model> network) {
            this.features = features;
            this.network = network;
        }
    }

    private static final int SIDE = 8;
    private static final int EXAMPLES = 3;

    private static INDArray rows(int seed) {
        return Networks.gaussian(seed, EXAMPLES, SIDE * SIDE);
    }

    private static INDArray images(int seed) {
        return rows(seed).reshape(EXAMPLES, 1, SIDE, SIDE);
    }

    private static ConvolutionLayer convolution(int out, Activation activation) {
        return new ConvolutionLayer.Builder(3, 3)
                .nOut(out)
                .convolutionMode(ConvolutionMode.Same)
                .activation(activation)
                .build();
    }

    private static OutputLayer softmax() {
        return new OutputLayer.Builder(LossFunctions.LossFunction.MCXENT)
                .nOut(4)
                .activation(Activation.SOFTMAX)
                .build();
    }

    private static DenseLayer dense(int out) {
        return new DenseLayer.Builder().nOut(out).activation(Activation.TANH).build();
    }

    private static SubsamplingLayer pooling(int size) {
        return new SubsamplingLayer.Builder(SubsamplingLayer.PoolingType.MAX)
                .kernelSize(size, size)
                .stride(size, size)
                .build();
    }

    private static MultiLayerNetwork imagesAsRows() {
        return Networks.init(Networks.builder(new Sgd(1e-2))
                .list()
                .layer(convolution(6, Activation.RELU))
                .layer(pooling(2))
                .layer(dense(12))
                .layer(softmax())
                .setInputType(InputType.convolutionalFlat(SIDE, SIDE, 1))
                .build());
    }

    private static MultiLayerNetwork groupsBeforeALoss() {
        return Networks.init(Networks.builder(new Sgd(1e-2))
                .list()
                .layer(convolution(6, Activation.IDENTITY))
                .layer(new BatchNormalization())
                .layer(new ActivationLayer(Activation.RELU))
                .layer(convolution(4, Activation.IDENTITY))
                .layer(new BatchNormalization())
                .layer(pooling(2))
                .layer(dense(5))
                .layer(new LossLayer.Builder(LossFunctions.LossFunction.MSE)
                        .activation(Activation.SIGMOID)
                        .build())
                .setInputType(InputType.convolutional(SIDE, SIDE, 1))
                .build());
    }

    private static MultiLayerNetwork dense() {
        return Networks.init(Networks.builder(new Sgd(1e-2))
                .list()
                .layer(dense(12))
                .layer(dense(7))
                .layer(softmax())
                .setInputType(InputType.feedForward(SIDE * SIDE))
                .build());
    }

    private static ComputationGraph graph() {
        ComputationGraph graph = new ComputationGraph(Networks.builder(new Sgd(1e-2))
                .graphBuilder()
                .addInputs("in")
                .addLayer("a", convolution(6, Activation.IDENTITY), "in")
                .addLayer("aNorm", new BatchNormalization(), "a")
                .addLayer("aRelu", new ActivationLayer(Activation.RELU), "aNorm")
                .addLayer("b", convolution(8, Activation.RELU), "aRelu")
                .addLayer("pool", pooling(SIDE), "b")
                .addLayer("out", softmax(), "pool")
                .setOutputs("out")
                .setInputTypes(InputType.convolutional(SIDE, SIDE, 1))
                .build());
        graph.init();
        return graph;
    }

    private static INDArray own(Model network, INDArray x) {
        return network instanceof ComputationGraph graph
                ? graph.outputSingle(x)
                : ((MultiLayerNetwork) network).output(x);
    }

    private static Model copy(Model network) {
        return network instanceof ComputationGraph graph ? graph.clone() : ((MultiLayerNetwork) network).clone();
    }

    private static float[] numbers(INDArray array) {
        return array.dup('c').data().asFloat();
    }

    /** A network and a copy that computes with its own method. */
    private static final class Pair implements AutoCloseable {
        private final Kind kind;
        private final Model network;
        private final Model copy;
        private final InferenceMode mode;
        private final InferenceMode ofCopy;

        Pair(Kind kind, Precision precision) {
            this(kind, RepeatedPassesTest.config(precision));
        }

        Pair(Kind kind, AmpConfig config) {
            this.kind = kind;
            this.network = kind.network.get();
            this.copy = copy(network);
            this.mode = MixedPrecision.inference(network, config);
            this.ofCopy = MixedPrecision.inference(copy, config);
        }

        void change(Consumer<Model> change) {
            change.accept(network);
            change.accept(copy);
        }

        void assertSame(INDArray x, String message) {
            assertArrayEquals(numbers(own(copy, x)), numbers(mode.output(x)), message);
        }

        /** Returns how many of some passes of the network DL4J had no part in. */
        long direct(int seed) {
            long direct = 0;
            for (int i = 0; i < RepeatedPassesTest.BEFORE + 5; i++) {
                INDArray x = kind.features.apply(seed + i);
                float[] expected = numbers(own(copy, x));
                long before = Repetition.direct();
                INDArray output = mode.output(x);
                direct += Repetition.direct() - before;
                assertFalse(output.isAttached());
                assertArrayEquals(expected, numbers(output), "pass " + i);
            }
            return direct;
        }

        @Override
        public void close() {
            mode.close();
            ofCopy.close();
        }
    }

    private static List<Kind> kinds() {
        return List.of(Kind.values());
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void theNumbersAreThoseOfTheNetworksOwnMethod(Kind kind) {
        for (Precision precision : Types.precisions()) {
            try (Pair pair = new Pair(kind, precision)) {
                assertEquals(5, pair.direct(0), kind + " in " + precision);
                assertEquals(8, pair.direct(20), kind + " in " + precision);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void outputsThatWereKeptStay(Kind kind) {
        try (Pair pair = new Pair(kind, Precision.FLOAT)) {
            pair.direct(0);
            List<INDArray> kept = new ArrayList<>();
            List<float[]> expected = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                kept.add(pair.mode.output(kind.features.apply(i)));
                expected.add(numbers(own(pair.copy, kind.features.apply(i))));
            }
            for (int i = 0; i < 5; i++) {
                assertArrayEquals(expected.get(i), numbers(kept.get(i)), "output " + i);
            }
            INDArray last = own(pair.network, kind.features.apply(9));
            pair.mode.output(kind.features.apply(10));
            assertArrayEquals(numbers(own(pair.copy, kind.features.apply(9))), numbers(last), "of the network");
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void changedParametersCount(Kind kind) {
        for (Precision precision : Types.precisions()) {
            try (Pair pair = new Pair(kind, precision)) {
                pair.direct(0);
                INDArray before = pair.mode.output(kind.features.apply(3));
                pair.change(network -> network.params().muli(0.7));
                pair.assertSame(kind.features.apply(3), "all");
                assertFalse(before.equalsWithEps(pair.mode.output(kind.features.apply(3)), 1e-4));
                pair.direct(1);
                pair.change(network -> lastParameters(network).addi(0.1));
                pair.assertSame(kind.features.apply(4), "of the last layer with parameters");
                pair.direct(2);
                // More numbers than are compared.
                pair.change(network ->
                        network.paramTable().values().iterator().next().putScalar(1, 5));
                pair.mode.refresh();
                pair.ofCopy.refresh();
                pair.assertSame(kind.features.apply(5), "refreshed");
            }
        }
    }

    private static INDArray lastParameters(Model network) {
        List<INDArray> all = List.copyOf(network.paramTable().values());
        return all.get(all.size() - 1);
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void numbersThatAnEngineWouldLoseAreLeftToDl4j(Kind kind) {
        for (Precision precision : Types.precisions()) {
            try (Pair pair = new Pair(kind, precision)) {
                for (double special : new double[] {Double.NaN, Double.NEGATIVE_INFINITY, 1e25}) {
                    pair.direct(3);
                    INDArray x = kind.features.apply(4);
                    x.putScalar(5, special);
                    pair.assertSame(x, "with " + special);
                    pair.assertSame(kind.features.apply(5), "after " + special);
                    pair.direct(6);
                    pair.change(network -> own(network, x));
                    pair.assertSame(kind.features.apply(7), "after the network's own pass with " + special);
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void otherShapesOrdersAndTypesComeBetween(Kind kind) {
        try (Pair pair = new Pair(kind, Precision.FLOAT)) {
            pair.direct(0);
            INDArray x = kind.features.apply(1);
            pair.assertSame(x.get(NDArrayIndex.interval(0, 1)), "one example");
            pair.direct(2);
            pair.assertSame(x.dup('f'), "the order f");
            pair.assertSame(Nd4j.concat(0, x, x, x).get(NDArrayIndex.interval(0, 9, 3)), "every third example");
            pair.assertSame(x.castTo(DataType.DOUBLE), "double precision");
            pair.direct(3);
            pair.assertSame(Nd4j.concat(0, x, x), "twice as many");
            pair.direct(4);
        }
    }

    @Test
    void rowsAreImagesOnlyWhereTheNetworkReshapesThem() {
        try (Pair pair = new Pair(Kind.IMAGES_AS_ROWS, Precision.FLOAT)) {
            pair.direct(0);
            pair.assertSame(images(3), "images in place of rows");
            assertRefusedAsByTheNetwork(pair, Nd4j.ones(DataType.FLOAT, EXAMPLES, SIDE * SIDE + 1));
            assertRefusedAsByTheNetwork(pair, Nd4j.ones(DataType.FLOAT, EXAMPLES, 2, SIDE, SIDE));
        }
        for (Kind kind : List.of(Kind.GROUPS_BEFORE_A_LOSS, Kind.GRAPH)) {
            try (Pair pair = new Pair(kind, Precision.FLOAT)) {
                pair.direct(0);
                assertRefusedAsByTheNetwork(pair, rows(3));
                assertRefusedAsByTheNetwork(pair, Nd4j.ones(DataType.FLOAT, EXAMPLES, 2, SIDE, SIDE));
            }
        }
    }

    private static void assertRefusedAsByTheNetwork(Pair pair, INDArray x) {
        String expected =
                assertThrows(RuntimeException.class, () -> own(pair.copy, x)).getMessage();
        String message =
                assertThrows(RuntimeException.class, () -> pair.mode.output(x)).getMessage();
        assertEquals(expected.lines().findFirst(), message.lines().findFirst());
    }

    /** DL4J leaves workspaces open in a thread whose pass fails. */
    @ParameterizedTest
    @EnumSource(Kind.class)
    void aPassThatFailsLeavesNothing(Kind kind) throws Exception {
        ExecutorService pool = Executors.newSingleThreadExecutor();
        try {
            pool.submit(() -> failAfterSomePasses(kind)).get();
        } finally {
            pool.shutdown();
        }
    }

    /** Fails before a pass is noted, when the list is tried, and when it's repeated. */
    private static void failAfterSomePasses(Kind kind) {
        try (Pair pair = new Pair(kind, Precision.FLOAT)) {
            for (int passes = 0; passes < RepeatedPassesTest.BEFORE + 2; passes++) {
                for (int i = 0; i < passes; i++) {
                    pair.assertSame(kind.features.apply(i), "pass " + i + " of " + passes);
                }
                assertRefusedAsByTheNetwork(pair, Nd4j.ones(DataType.FLOAT, EXAMPLES, SIDE + 1));
                pair.assertSame(kind.features.apply(9), "after a failure behind " + passes);
                pair.mode.refresh();
            }
            // After lists that were soon dropped the next one is made later.
            for (int i = 0; i < 8; i++) {
                pair.direct(i);
            }
            assertEquals(8, pair.direct(10));
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aNetworkIsSavedInTheMiddleAndTrainedBetweenTwoModes(Kind kind) throws Exception {
        Model network = kind.network.get();
        configure(network);
        for (int round = 0; round < 2; round++) {
            INDArray x = kind.features.apply(round);
            INDArray direct;
            ByteArrayOutputStream saved = new ByteArrayOutputStream();
            try (InferenceMode mode = MixedPrecision.inference(network)) {
                long before = Repetition.direct();
                for (int i = 0; i < RepeatedPassesTest.BEFORE; i++) {
                    mode.output(x);
                }
                direct = mode.output(x);
                assertEquals(before + 1, Repetition.direct());
                ModelSerializer.writeModel(network, saved, true);
            }
            Model restored = restored(network, saved);
            try (InferenceMode mode = MixedPrecision.inference(restored)) {
                assertArrayEquals(numbers(direct), numbers(mode.output(x)), "restored");
            }
            INDArray parameters = network.params().dup();
            train(network, x, direct.rsub(1));
            assertFalse(parameters.equals(network.params()));
        }
    }

    /** The settings come from the network's configuration. */
    private static void configure(Model network) {
        AmpConfig config = RepeatedPassesTest.config(Precision.FLOAT);
        if (network instanceof ComputationGraph graph) {
            MixedPrecision.configure(graph.getConfiguration(), config);
        } else {
            MixedPrecision.configure(((MultiLayerNetwork) network).getLayerWiseConfigurations(), config);
        }
    }

    private static Model restored(Model network, ByteArrayOutputStream saved) throws IOException {
        ByteArrayInputStream zip = new ByteArrayInputStream(saved.toByteArray());
        return network instanceof ComputationGraph
                ? ModelSerializer.restoreComputationGraph(zip, true)
                : ModelSerializer.restoreMultiLayerNetwork(zip, true);
    }

    private static void train(Model network, INDArray x, INDArray labels) {
        if (network instanceof ComputationGraph graph) {
            graph.fit(new DataSet(x, labels));
        } else {
            ((MultiLayerNetwork) network).fit(x, labels);
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void passesOfOtherKindsComeBetween(Kind kind) {
        try (Pair pair = new Pair(kind, Precision.FLOAT)) {
            for (int i = 0; i < 4; i++) {
                pair.direct(10 * i);
                INDArray x = kind.features.apply(i);
                pair.change(network -> feedForward(network, x));
                pair.assertSame(x, "after feedForward");
                assertArrayEquals(numbers(own(pair.copy, x)), numbers(own(pair.network, x)), "the network's own");
            }
        }
    }

    private static void feedForward(Model network, INDArray x) {
        if (network instanceof ComputationGraph graph) {
            graph.feedForward(x, false);
        } else {
            ((MultiLayerNetwork) network).feedForward(x, false);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void aMaskIsLeftToDl4j(int layer) {
        try (Pair pair = new Pair(Kind.DENSE, Precision.FLOAT)) {
            pair.direct(0);
            INDArray x = rows(5);
            float[] plain = numbers(pair.mode.output(x));
            INDArray mask = Nd4j.createFromArray(new float[][] {{1}, {0}, {1}});
            pair.change(network -> ((MultiLayerNetwork) network).getLayer(layer).setMaskArray(mask));
            float[] expected = numbers(own(pair.copy, x));
            assertArrayEquals(expected, numbers(pair.mode.output(x)));
            assertFalse(Arrays.equals(plain, expected));
            pair.change(network -> ((MultiLayerNetwork) network).getLayer(layer).setMaskArray(null));
            pair.direct(7);
        }
    }

    @Test
    void eachOfSeveralThreadsGetsItsOwnOutputs() throws Exception {
        for (Kind kind : kinds()) {
            try (Pair pair = new Pair(kind, Precision.FLOAT)) {
                List<float[]> expected = new ArrayList<>();
                for (int seed = 0; seed < 12; seed++) {
                    expected.add(numbers(own(pair.copy, kind.features.apply(seed))));
                }
                ExecutorService pool = Executors.newFixedThreadPool(3);
                List<Future<?>> threads = new ArrayList<>();
                for (int thread = 0; thread < 3; thread++) {
                    int offset = 4 * thread;
                    threads.add(pool.submit(() -> {
                        for (int i = 0; i < 40; i++) {
                            int seed = offset + i % 4;
                            INDArray x = kind.features.apply(seed);
                            // The network's own method in every fifth pass.
                            INDArray output = i % 5 == 4 ? own(pair.network, x) : pair.mode.output(x);
                            assertArrayEquals(expected.get(seed), numbers(output), kind + ", pass " + i);
                        }
                    }));
                }
                for (Future<?> thread : threads) {
                    thread.get();
                }
                pool.shutdown();
            }
        }
    }

    @Test
    void closingWaitsForAPassAndRefusesTheNextOne() throws Exception {
        for (Kind kind : kinds()) {
            Pair pair = new Pair(kind, Precision.FLOAT);
            float[] expected = numbers(own(pair.copy, kind.features.apply(1)));
            ExecutorService pool = Executors.newSingleThreadExecutor();
            Future<Integer> passes = pool.submit(() -> {
                for (int i = 0; ; i++) {
                    try {
                        // The network's own layers compute a pass that begins while the mode is closed.
                        assertArrayEquals(
                                expected, numbers(pair.mode.output(kind.features.apply(1))), 1e-5f, "pass " + i);
                    } catch (AmpException e) {
                        assertTrue(e.getMessage().contains("closed"), e.getMessage());
                        return i;
                    }
                }
            });
            Thread.sleep(200);
            pair.close();
            assertTrue(passes.get() > 0);
            pool.shutdown();
            AmpException refused = assertThrows(AmpException.class, () -> pair.mode.output(kind.features.apply(1)));
            assertTrue(refused.getMessage().contains("Call the network's own output"), refused.getMessage());
            try (InferenceMode again =
                    MixedPrecision.inference(pair.network, RepeatedPassesTest.config(Precision.FLOAT))) {
                assertArrayEquals(expected, numbers(again.output(kind.features.apply(1))));
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aProgramsWorkspaceMayBeOpen(Kind kind) {
        try (Pair pair = new Pair(kind, Precision.FLOAT)) {
            pair.direct(0);
            INDArray output;
            try (MemoryWorkspace open = Nd4j.getWorkspaceManager().getAndActivateWorkspace("program")) {
                INDArray x = kind.features.apply(7).dup();
                output = pair.mode.output(x);
            }
            assertFalse(output.isAttached());
            assertArrayEquals(numbers(own(pair.copy, kind.features.apply(7))), numbers(output));
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void onNd4jsEngineThePassesAreTheNetworksOwn(Kind kind) {
        AmpConfig config =
                AmpConfig.builder().engine("nd4j").precision(Precision.FLOAT).build();
        try (Pair pair = new Pair(kind, config)) {
            assertEquals(0, pair.direct(0));
        }
    }

    /** A network of a user's class, which returns something else. */
    // DL4J's own class overrides methods of variable arity by others.
    @SuppressWarnings("overrides")
    private static final class Negating extends MultiLayerNetwork {
        private static final long serialVersionUID = 1L;

        Negating(MultiLayerNetwork network) {
            super(network.getLayerWiseConfigurations().clone(), network.params().dup());
        }

        @Override
        public INDArray output(INDArray x) {
            return super.output(x).neg();
        }
    }

    @Test
    void aUsersClassComputesByItsOwnMethod() {
        MultiLayerNetwork network = imagesAsRows();
        Negating negating = new Negating(network);
        AmpConfig config = RepeatedPassesTest.config(Precision.FLOAT);
        try (InferenceMode mode = MixedPrecision.inference(network, config);
                InferenceMode other = MixedPrecision.inference(negating, config)) {
            for (int i = 0; i < 8; i++) {
                assertArrayEquals(numbers(mode.output(rows(i)).neg()), numbers(other.output(rows(i))));
            }
        }
    }

    @Test
    void whatCannotBeComputedIsNamed() {
        ComputationGraph two = new ComputationGraph(Networks.builder(new Sgd(1e-2))
                .graphBuilder()
                .addInputs("in")
                .addLayer("a", dense(3), "in")
                .addLayer("b", softmax(), "a")
                .addLayer("c", softmax(), "a")
                .setOutputs("b", "c")
                .setInputTypes(InputType.feedForward(5))
                .build());
        two.init();
        try (InferenceMode mode = MixedPrecision.inference(two, RepeatedPassesTest.config(Precision.FLOAT))) {
            AmpException several = assertThrows(AmpException.class, () -> mode.output(Nd4j.ones(DataType.FLOAT, 1, 5)));
            assertTrue(several.getMessage().contains("1 inputs and 2 outputs"), several.getMessage());
            AmpException missing = assertThrows(AmpException.class, () -> mode.output(null));
            assertTrue(missing.getMessage().contains("features"), missing.getMessage());
        }
    }
}
