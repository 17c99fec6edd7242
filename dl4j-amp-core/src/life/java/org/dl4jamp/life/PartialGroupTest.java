package org.dl4jamp.life;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.GradientNormalization;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DepthwiseConvolution2D;
import org.deeplearning4j.nn.conf.stepfunctions.DefaultStepFunction;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.optimize.api.StepFunction;
import org.deeplearning4j.optimize.solvers.accumulation.BasicGradientsAccumulator;
import org.deeplearning4j.optimize.solvers.accumulation.GradientsAccumulator;
import org.deeplearning4j.optimize.solvers.accumulation.LocalHandler;
import org.deeplearning4j.util.ModelSerializer;
import org.dl4jamp.AmpModelSerializer;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.checkpoint.AmpState;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.config.PartialGroup;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.schedule.MapSchedule;
import org.nd4j.linalg.schedule.ScheduleType;

/** Micro-batches that are too few for a step: at the end of an epoch, and when the network is saved. */
class PartialGroupTest {
    private static final Side PLAIN = new Side(Precision.FLOAT, "dl4j", 1e-4);

    @TempDir
    private Path folder;

    private static void adam(NeuralNetConfiguration.Builder conf) {
        conf.updater(new Adam(1e-3, 0.9, 0.999, 1e-3)).l2(0.01);
    }

    private static Stream<Arguments> everywhere() {
        return Stream.concat(Kind.all().map(kind -> Arguments.of(kind, PLAIN)), Kind.everywhere());
    }

    private static AmpConfig accumulate(Side side, int microBatches, PartialGroup partial) {
        return AccumulationTest.config(side).accumulate(microBatches, partial).build();
    }

    /** 48 examples. */
    private static DataSet all() {
        return Networks.vectors(48, 20, 3);
    }

    /** 6 micro-batches. */
    private static DataSetIterator iterator() {
        return new ExistingDataSetIterator(all().batchBy(8));
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void theEndOfAnEpochAppliesWhatIsLeftWithItsTrueSize(Kind kind, Side side) {
        Model whole = AccumulationTest.network(kind, PartialGroupTest::adam);
        Model parts = AccumulationTest.network(kind, PartialGroupTest::adam);
        INDArray before = whole.params().dup();
        Sides.enable(whole, AccumulationTest.config(side).build());
        MixedPrecision amp = Sides.enable(parts, accumulate(side, 4, PartialGroup.APPLY));
        for (int epoch = 0; epoch < 2; epoch++) {
            Kind.fit(whole, AccumulationTest.examples(all(), 0, 32));
            Kind.fit(whole, AccumulationTest.examples(all(), 32, 48));
        }
        Kind.fit(parts, iterator(), 2);
        assertEquals(4, amp.stepsTaken());
        side.assertLearnedAlike(before, whole, parts);
    }

    /** Listeners at the end of an epoch get the result of the whole epoch. */
    @ParameterizedTest
    @EnumSource(Kind.class)
    void listenersSeeTheLastStepOfAnEpochAtItsEnd(Kind kind) {
        Model network = AccumulationTest.network(kind, PartialGroupTest::adam);
        INDArray[] seen = new INDArray[1];
        network.addListeners(new BaseTrainingListener() {
            @Override
            public void onEpochEnd(Model model) {
                seen[0] = model.params().dup();
            }
        });
        Sides.enable(network, accumulate(PLAIN, 4, PartialGroup.APPLY));
        Kind.fit(network, iterator(), 1);
        assertEquals(network.params(), seen[0]);
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void carriedOverTheyWaitForTheNextEpoch(Kind kind, Side side) {
        Model whole = AccumulationTest.network(kind, PartialGroupTest::adam);
        Model parts = AccumulationTest.network(kind, PartialGroupTest::adam);
        INDArray before = whole.params().dup();
        Sides.enable(whole, AccumulationTest.config(side).build());
        MixedPrecision amp = Sides.enable(parts, accumulate(side, 4, PartialGroup.CARRY_OVER));
        DataSet twice = DataSet.merge(List.of(all(), all()));
        for (int step = 0; step < 3; step++) {
            Kind.fit(whole, AccumulationTest.examples(twice, 32 * step, 32 * step + 32));
        }
        Kind.fit(parts, iterator(), 2);
        assertEquals(3, amp.stepsTaken());
        side.assertLearnedAlike(before, whole, parts);
    }

    /** DL4J's updater takes the bias of a depthwise convolution, which lies before the weights, for a part of these. */
    @ParameterizedTest
    @EnumSource(GradientNormalization.class)
    void gradientsOfADepthwiseConvolutionAreNormalizedAsThoseOfAWholeBatch(GradientNormalization normalization) {
        MultiLayerNetwork whole = Networks.init(Networks.builder(new Sgd(0.5))
                .gradientNormalization(normalization)
                .gradientNormalizationThreshold(0.02)
                .list()
                .layer(new DepthwiseConvolution2D.Builder(3, 3)
                        .activation(Activation.TANH)
                        .build())
                .layer(Networks.softmax(3))
                .setInputType(InputType.convolutional(8, 8, 2))
                .build());
        MultiLayerNetwork parts = whole.clone();
        DataSet data = Networks.images(16, 2, 8, 3);
        INDArray before = whole.params().dup();
        whole.fit(data);
        try (MixedPrecision amp = Sides.enable(parts, accumulate(PLAIN, 4, PartialGroup.APPLY))) {
            data.batchBy(8).forEach(parts::fit);
            assertEquals(before, parts.params());
            assertTrue(amp.applyPartialGroup());
        }
        PLAIN.assertLearnedAlike(before, whole, parts);
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void withoutEpochsACallAppliesThem(Kind kind) {
        Model whole = AccumulationTest.network(kind, PartialGroupTest::adam);
        Model parts = AccumulationTest.network(kind, PartialGroupTest::adam);
        INDArray before = whole.params().dup();
        MixedPrecision amp = Sides.enable(parts, accumulate(PLAIN, 4, PartialGroup.APPLY));
        assertFalse(amp.applyPartialGroup());
        Kind.fit(whole, AccumulationTest.examples(all(), 0, 16));
        Kind.fit(parts, AccumulationTest.examples(all(), 0, 8));
        Kind.fit(parts, AccumulationTest.examples(all(), 8, 16));
        assertEquals(before, parts.params());
        assertTrue(amp.applyPartialGroup());
        assertFalse(amp.applyPartialGroup());
        assertEquals(1, amp.stepsTaken());
        PLAIN.assertLearnedAlike(before, whole, parts);
        amp.close();
        assertThrows(AmpException.class, amp::applyPartialGroup);
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void savedInTheMiddleOfAGroupANetworkGoesOnBitForBit(Kind kind, Side side) throws IOException {
        Model network = AccumulationTest.network(kind, PartialGroupTest::adam);
        Sides.enable(network, accumulate(side, 3, PartialGroup.CARRY_OVER));
        for (int i = 0; i < 5; i++) {
            Kind.fit(network, AccumulationTest.examples(all(), 8 * i, 8 * i + 8));
        }
        File file = folder.resolve("half.zip").toFile();
        AmpModelSerializer.writeModel(network, file, true);
        Model restored = kind == Kind.GRAPH
                ? AmpModelSerializer.restoreComputationGraph(file)
                : AmpModelSerializer.restoreMultiLayerNetwork(file);
        Model stock = kind == Kind.GRAPH
                ? ModelSerializer.restoreComputationGraph(file)
                : ModelSerializer.restoreMultiLayerNetwork(file);
        assertEquals(network.params(), stock.params());
        INDArray before = network.params().dup();
        for (Model one : List.of(network, restored)) {
            for (int i = 0; i < 4; i++) {
                Kind.fit(one, AccumulationTest.examples(all(), 8 * i, 8 * i + 8));
            }
        }
        assertNotEquals(before, network.params());
        assertEquals(network.params(), restored.params());
        assertEquals(Sides.updaterState(network), Sides.updaterState(restored));
        assertEquals(3, MixedPrecision.of(restored).orElseThrow().stepsTaken());
    }

    private static Stream<Arguments> waysEverywhere() {
        return everywhere().flatMap(arguments -> Stream.of("Adam", "schedule")
                .map(way -> Arguments.of(arguments.get()[0], arguments.get()[1], way)));
    }

    private static void set(NeuralNetConfiguration.Builder conf, String way) {
        if (way.equals("Adam")) {
            adam(conf);
        } else {
            conf.updater(new Sgd(new MapSchedule(
                    ScheduleType.ITERATION, Map.of(0, 0.1, 1, 0.03, 2, 0.2, 3, 0.01, 4, 0.3, 5, 0.07))));
        }
    }

    /** The updater wasn't called since it was restored, and its bias correction and schedules go on all the same. */
    @ParameterizedTest
    @MethodSource("waysEverywhere")
    void appliedRightAfterARestoreItIsTheStepThatWouldHaveBeen(Kind kind, Side side, String way) throws IOException {
        Model network = AccumulationTest.network(kind, conf -> set(conf, way));
        Sides.enable(network, accumulate(side, 3, PartialGroup.CARRY_OVER));
        DataSet bad = AccumulationTest.examples(all(), 0, 8).copy();
        bad.getFeatures().putScalar(0, Float.NaN);
        for (int i = 0; i < 11; i++) {
            Kind.fit(network, i == 4 ? bad : AccumulationTest.examples(all(), 8 * (i % 6), 8 * (i % 6) + 8));
        }
        File file = folder.resolve("waiting.zip").toFile();
        AmpModelSerializer.writeModel(network, file, true);
        Model restored = kind == Kind.GRAPH
                ? AmpModelSerializer.restoreComputationGraph(file)
                : AmpModelSerializer.restoreMultiLayerNetwork(file);
        for (Model one : List.of(network, restored)) {
            assertTrue(MixedPrecision.of(one).orElseThrow().applyPartialGroup());
        }
        assertEquals(0, network.params().distance2(restored.params()));
        for (Model one : List.of(network, restored)) {
            for (int i = 0; i < 3; i++) {
                Kind.fit(one, AccumulationTest.examples(all(), 8 * i, 8 * i + 8));
            }
            assertEquals(4, MixedPrecision.of(one).orElseThrow().stepsTaken());
        }
        assertEquals(0, network.params().distance2(restored.params()));
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void gradientsOfAPartialGroupAreNormalizedLayerByLayer(Kind kind) {
        assertAppliedAsTheWholeBatch(kind, conf -> conf.updater(new Sgd(0.5))
                .gradientNormalization(GradientNormalization.ClipL2PerLayer)
                .gradientNormalizationThreshold(0.01));
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void theNetworksStepFunctionMovesTheParameters(Kind kind) {
        assertAppliedAsTheWholeBatch(kind, conf -> conf.updater(new Sgd(0.1)).stepFunction(new DefaultStepFunction()));
    }

    /** Applies two micro-batches of a group of four, and compares with a network that learns from both at once. */
    private static void assertAppliedAsTheWholeBatch(Kind kind, Consumer<NeuralNetConfiguration.Builder> settings) {
        Model whole = AccumulationTest.network(kind, settings);
        Model parts = AccumulationTest.network(kind, settings);
        INDArray before = whole.params().dup();
        MixedPrecision amp = Sides.enable(parts, accumulate(PLAIN, 4, PartialGroup.APPLY));
        Kind.fit(whole, AccumulationTest.examples(all(), 0, 16));
        Kind.fit(parts, AccumulationTest.examples(all(), 0, 8));
        Kind.fit(parts, AccumulationTest.examples(all(), 8, 16));
        assertTrue(amp.applyPartialGroup());
        PLAIN.assertLearnedAlike(before, whole, parts);
    }

    /** Moves parameters by twice what it's given. */
    private static final class Doubling extends BasicGradientsAccumulator {
        private static final long serialVersionUID = 1L;
        private final List<Integer> stored = new ArrayList<>();

        Doubling() {
            super(1, new LocalHandler());
        }

        @Override
        public void storeUpdate(INDArray update, int iteration, int epoch) {
            stored.add(iteration);
        }

        @Override
        public void applyUpdate(StepFunction function, INDArray parameters, INDArray updates, boolean last) {
            function.step(parameters, updates.mul(2));
        }
    }

    private static void set(Model network, GradientsAccumulator accumulator) {
        if (network instanceof MultiLayerNetwork layers) {
            layers.setGradientsAccumulator(accumulator);
        } else {
            ((ComputationGraph) network).setGradientsAccumulator(accumulator);
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void theUsersAccumulatorIsGivenTheUpdatesAndMovesTheParameters(Kind kind) {
        Model whole = AccumulationTest.network(kind, PartialGroupTest::adam);
        Model parts = AccumulationTest.network(kind, PartialGroupTest::adam);
        INDArray before = whole.params().dup();
        MixedPrecision amp = Sides.enable(parts, accumulate(PLAIN, 4, PartialGroup.APPLY));
        Doubling accumulator = new Doubling();
        set(whole, new Doubling());
        set(parts, accumulator);
        Kind.fit(whole, AccumulationTest.examples(all(), 0, 16));
        Kind.fit(parts, AccumulationTest.examples(all(), 0, 8));
        Kind.fit(parts, AccumulationTest.examples(all(), 8, 16));
        assertTrue(amp.applyPartialGroup());
        assertEquals(List.of(0, 1, 1), accumulator.stored);
        PLAIN.assertLearnedAlike(before, whole, parts);
    }

    @Test
    void aGroupThatWillBeLeftOutIsLeftOutWhenItWasSaved() throws IOException {
        MultiLayerNetwork network =
                (MultiLayerNetwork) AccumulationTest.network(Kind.MULTI_LAYER, PartialGroupTest::adam);
        Sides.enable(network, accumulate(PLAIN, 2, PartialGroup.APPLY));
        DataSet bad = AccumulationTest.examples(all(), 0, 8).copy();
        bad.getFeatures().putScalar(0, Float.NaN);
        network.fit(bad);
        File file = folder.resolve("bad.zip").toFile();
        AmpModelSerializer.writeModel(network, file, true);
        MultiLayerNetwork restored = AmpModelSerializer.restoreMultiLayerNetwork(file);
        INDArray before = restored.params().dup();
        restored.fit(AccumulationTest.examples(all(), 0, 8));
        assertEquals(before, restored.params());
        assertEquals(1, MixedPrecision.of(restored).orElseThrow().stepsSkipped());
    }

    /** Of five that wait two would be too many: the next one completes them. */
    @Test
    void aSmallerGroupTakesAllThatWaited() {
        MultiLayerNetwork network =
                (MultiLayerNetwork) AccumulationTest.network(Kind.MULTI_LAYER, PartialGroupTest::adam);
        MultiLayerNetwork whole =
                (MultiLayerNetwork) AccumulationTest.network(Kind.MULTI_LAYER, PartialGroupTest::adam);
        INDArray before = network.params().dup();
        MixedPrecision amp = Sides.enable(network, accumulate(PLAIN, 6, PartialGroup.APPLY));
        for (int i = 0; i < 5; i++) {
            network.fit(AccumulationTest.examples(all(), 8 * i, 8 * i + 8));
        }
        AmpState state = amp.state();
        amp.close();
        assertEquals(before, network.params(), "closing makes no step");
        MixedPrecision.enable(
                network,
                new AmpState(
                        accumulate(PLAIN, 2, PartialGroup.APPLY),
                        state.scaler(),
                        state.stepsTaken(),
                        state.stepsSkipped(),
                        state.consecutiveSkips(),
                        state.iterationsWithoutStep(),
                        state.waiting()));
        network.fit(AccumulationTest.examples(all(), 40, 48));
        whole.fit(all());
        PLAIN.assertLearnedAlike(before, whole, network);
    }

    @Test
    void whatWaitsForAnotherNetworkIsRefused() {
        MultiLayerNetwork network =
                (MultiLayerNetwork) AccumulationTest.network(Kind.MULTI_LAYER, PartialGroupTest::adam);
        MixedPrecision amp = Sides.enable(network, accumulate(PLAIN, 2, PartialGroup.APPLY));
        network.fit(AccumulationTest.examples(all(), 0, 8));
        ComputationGraph other = (ComputationGraph) Kind.GRAPH.network();
        AmpException e = assertThrows(AmpException.class, () -> MixedPrecision.enable(other, amp.state()));
        assertTrue(e.getMessage().contains(network.numParams() + " gradients"), e::getMessage);
        assertTrue(MixedPrecision.of(other).isEmpty());
    }
}
