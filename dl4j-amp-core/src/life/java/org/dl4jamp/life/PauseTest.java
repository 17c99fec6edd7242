package org.dl4jamp.life;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.constraint.NonNegativeConstraint;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.dl4jamp.AmpModelSerializer;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.Pause;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.config.GradientPenalty;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.DynamicLossScaler;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;

/** Pauses of mixed precision, compared with stock DL4J. */
class PauseTest {
    /** Updaters of engines round in another order than ND4J's. */
    private static final double ROUNDING = 1e-5;

    @TempDir
    private Path folder;

    private static Stream<Arguments> everywhere() {
        return Kind.everywhere();
    }

    private static Model of(Kind kind, MultiLayerConfiguration configuration) {
        MultiLayerNetwork network = Networks.init(configuration);
        return kind == Kind.GRAPH ? network.toComputationGraph() : network;
    }

    private static Model adam(Kind kind) {
        return of(kind, Networks.mlp());
    }

    private static AmpConfig.Builder config(Side side) {
        return AmpConfig.builder().precision(side.precision()).engine(side.engine());
    }

    private static void fit(Model network, int steps) {
        for (int i = 0; i < steps; i++) {
            Kind.fit(network, Kind.data());
        }
    }

    private static Layer[] layers(Model network) {
        return network instanceof MultiLayerNetwork layers
                ? layers.getLayers().clone()
                : ((ComputationGraph) network).getLayers().clone();
    }

    private static void listen(Model network, TrainingListener listener) {
        network.setListeners(listener);
    }

    private static int iterations(Model network) {
        return network instanceof MultiLayerNetwork layers
                ? layers.getIterationCount()
                : ((ComputationGraph) network).getIterationCount();
    }

    private static void assertClose(INDArray expected, INDArray actual) {
        double error = expected.sub(actual).norm2Number().doubleValue();
        double norm = expected.norm2Number().doubleValue();
        assertTrue(error <= ROUNDING * norm, () -> error + " of " + norm);
    }

    // --- what it computes

    @ParameterizedTest
    @MethodSource("everywhere")
    void whatIsInsideIsComputedByTheNetworksOwnLayersAndTheOthersComeBack(Kind kind, Side side) {
        Model stock = kind.network();
        Model network = kind.network();
        MixedPrecision amp = side.enable(network);
        INDArray features = Kind.data().getFeatures();
        INDArray mixed = Kind.output(network, features);
        Layer[] standIns = layers(network);
        try (Pause fp32 = amp.pause()) {
            assertTrue(amp.isPaused());
            assertEquals(Kind.output(stock, features), Kind.output(network, features));
            assertSame(MixedPrecision.master(standIns[0]), layers(network)[0]);
            assertNotSame(standIns[0], layers(network)[0]);
            assertSame(amp, MixedPrecision.of(network).orElseThrow());
        }
        assertFalse(amp.isPaused());
        assertArrayEquals(standIns, layers(network));
        assertEquals(mixed, Kind.output(network, features));
        if (side.precision().isHalf()) {
            assertNotEquals(Kind.output(stock, features), mixed);
        }
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void verticesAndTheirTypesAreTheGraphsOwnInside(Kind kind, Side side) {
        ComputationGraph stock = Networks.init(Networks.residual());
        ComputationGraph network = Networks.init(Networks.residual());
        DataSet images = Networks.images(6, 3, 8, 3);
        MixedPrecision amp = side.enable(network);
        INDArray mixed = network.outputSingle(images.getFeatures());
        try (Pause fp32 = amp.pause()) {
            assertEquals(stock.outputSingle(images.getFeatures()), network.outputSingle(images.getFeatures()));
            stock.fit(images);
            network.fit(images);
            assertClose(stock.params(), network.params());
            network.setParams(Networks.init(Networks.residual()).params());
        }
        assertEquals(mixed, network.outputSingle(images.getFeatures()));
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void stepsInsideAreThoseOfStockDl4jAndAreCounted(Kind kind, Side side) {
        Model stock = adam(kind);
        Model network = adam(kind);
        MixedPrecision amp = side.enable(network);
        fit(stock, 4);
        try (Pause fp32 = amp.pause()) {
            fit(network, 4);
        }
        assertClose(stock.params(), network.params());
        assertClose(Sides.updaterState(stock), Sides.updaterState(network));
        assertEquals(4, amp.stepsTaken());
        assertEquals(4, iterations(network));
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void stepsInsideAndOutsideAreOneTraining(Kind kind, Side side) {
        Model stock = kind.network();
        Model network = kind.network();
        INDArray before = stock.params().dup();
        MixedPrecision amp = side.enable(network);
        fit(stock, 6);
        fit(network, 2);
        try (Pause fp32 = amp.pause()) {
            fit(network, 2);
        }
        fit(network, 2);
        side.assertLearnedAlike(before, stock, network);
        assertEquals(6, amp.stepsTaken());
    }

    /** Adam's count of steps is the third one's in the network's count. */
    @ParameterizedTest
    @MethodSource("everywhere")
    void aStepThatIsNotFiniteIsSkippedInsideAndTheNextOneIsThatOfStockDl4j(Kind kind, Side side) {
        Model stock = adam(kind);
        Model network = adam(kind);
        MixedPrecision amp = side.enable(network);
        fit(stock, 2);
        DataSet bad = Kind.data();
        bad.getFeatures().putScalar(0, 3, Double.NaN);
        try (Pause fp32 = amp.pause()) {
            fit(network, 1);
            Kind.fit(network, bad);
        }
        try (Pause fp32 = amp.pause()) {
            fit(network, 1);
        }
        assertClose(stock.params(), network.params());
        assertEquals(2, amp.stepsTaken());
        assertEquals(1, amp.stepsSkipped());
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void theScalerHearsNothingOfStepsInside(Kind kind, Side side) {
        Model network = kind.network();
        DynamicLossScaler scaler =
                DynamicLossScaler.builder().initialScale(64).growthInterval(3).build();
        MixedPrecision amp =
                Sides.enable(network, config(side).lossScaler(scaler).build());
        double scale = amp.lossScale();
        listen(network, new BaseTrainingListener() {
            @Override
            public void onGradientCalculation(Model model) {
                if (iterations(network) == 2) {
                    gradients(network).putScalar(0, Double.POSITIVE_INFINITY);
                }
            }
        });
        try (Pause fp32 = amp.pause()) {
            fit(network, 5);
        }
        assertEquals(4, amp.stepsTaken());
        assertEquals(1, amp.stepsSkipped());
        assertEquals(scale, amp.lossScale());
        assertEquals(0, amp.lossScaler().state().growthTracker());
        fit(network, 2);
        assertEquals(amp.plan().anyHalf() ? 2 : 0, amp.lossScaler().state().growthTracker());
    }

    private static INDArray gradients(Model network) {
        return network instanceof MultiLayerNetwork layers
                ? layers.getGradientsViewArray()
                : ((ComputationGraph) network).getGradientsViewArray();
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void ofNestedPausesTheOutermostCounts(Kind kind, Side side) {
        Model stock = kind.network();
        Model network = kind.network();
        MixedPrecision amp = side.enable(network);
        INDArray features = Kind.data().getFeatures();
        Layer[] standIns = layers(network);
        try (Pause outer = amp.pause()) {
            try (Pause inner = amp.pause()) {
                assertEquals(Kind.output(stock, features), Kind.output(network, features));
            }
            assertTrue(amp.isPaused());
            assertEquals(Kind.output(stock, features), Kind.output(network, features));
        }
        assertArrayEquals(standIns, layers(network));
    }

    // --- what goes along

    @ParameterizedTest
    @MethodSource("everywhere")
    void recurrentStateGoesIntoAPauseAndOutOfIt(Kind kind, Side side) {
        Model stock = of(kind, Networks.lstm());
        Model network = of(kind, Networks.lstm());
        MixedPrecision amp = side.enable(network);
        INDArray steps = Networks.sequences(4, 5, 3, 3).getFeatures();
        INDArray[] expected = new INDArray[3];
        INDArray[] actual = new INDArray[3];
        for (int t = 0; t < 3; t++) {
            INDArray step = Nd4j.create(DataType.FLOAT, 4, 5).assign(steps.tensorAlongDimension(t, 0, 1));
            expected[t] = timeStep(stock, step);
            if (t == 1) {
                try (Pause fp32 = amp.pause()) {
                    actual[t] = timeStep(network, step);
                }
            } else {
                actual[t] = timeStep(network, step);
            }
            side.assertClose(expected[t], actual[t], "step " + t);
        }
        INDArray last = Nd4j.create(DataType.FLOAT, 4, 5).assign(steps.tensorAlongDimension(2, 0, 1));
        INDArray withoutState = timeStep(of(kind, Networks.lstm()), last);
        double state = withoutState.sub(expected[2]).norm2Number().doubleValue();
        double error = actual[2].sub(expected[2]).norm2Number().doubleValue();
        assertTrue(error < state / 5, () -> "without state it's off by " + state + ", with it by " + error);
    }

    private static INDArray timeStep(Model network, INDArray step) {
        return network instanceof MultiLayerNetwork layers
                ? layers.rnnTimeStep(step)
                : ((ComputationGraph) network).rnnTimeStep(step)[0];
    }

    private static Model truncated(Kind kind) {
        Model network = of(kind, Networks.truncatedLstm());
        if (network instanceof ComputationGraph graph) {
            ComputationGraphConfiguration configuration = graph.getConfiguration();
            configuration.setBackpropType(BackpropType.TruncatedBPTT);
            configuration.setTbpttFwdLength(4);
            configuration.setTbpttBackLength(4);
        }
        return network;
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void aPauseBetweenTheSegmentsOfTruncatedBackpropagationChangesNothingButThePrecision(Kind kind, Side side) {
        Model stock = truncated(kind);
        Model network = truncated(kind);
        INDArray before = stock.params().dup();
        MixedPrecision amp = side.enable(network);
        List<Pause> pauses = new ArrayList<>();
        listen(network, new BaseTrainingListener() {
            @Override
            public void iterationDone(Model model, int iteration, int epoch) {
                if (pauses.isEmpty()) {
                    pauses.add(amp.pause());
                } else {
                    pauses.remove(0).close();
                }
            }
        });
        DataSet sequences = Networks.sequences(8, 5, 3, 16);
        Kind.fit(stock, sequences);
        Kind.fit(network, sequences);
        assertEquals(4, amp.stepsTaken());
        side.assertLearnedAlike(before, stock, network);
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void microBatchesInsideAreAddedToTheirGroup(Kind kind, Side side) {
        Model stock = kind.network();
        Model network = kind.network();
        INDArray before = stock.params().dup();
        MixedPrecision amp = Sides.enable(network, config(side).accumulate(4).build());
        List<DataSet> micro = Kind.data().batchBy(12);
        Kind.fit(stock, Kind.data());
        Kind.fit(network, micro.get(0));
        try (Pause fp32 = amp.pause()) {
            Kind.fit(network, micro.get(1));
            Kind.output(network, micro.get(1).getFeatures());
            Kind.fit(network, micro.get(2));
        }
        assertEquals(before, network.params());
        Kind.fit(network, micro.get(3));
        assertEquals(1, amp.stepsTaken());
        side.assertLearnedAlike(before, stock, network);
        if (amp.plan().anyHalf() && side.precision() == Precision.HALF) {
            assertEquals(1, amp.lossScaler().state().growthTracker());
        }
    }

    /** Against another way to have all layers left to DL4J. */
    @ParameterizedTest
    @MethodSource("everywhere")
    void penaltyAndClippingAreThoseOfFp32Inside(Kind kind, Side side) {
        Model expected = kind.network();
        Model network = kind.network();
        GradientPenalty penalty = GradientPenalty.of(0.2, 0.05);
        Sides.enable(
                expected,
                AmpConfig.builder()
                        .engine("dl4j")
                        .gradientPenalty(penalty)
                        .clipGradientNorm(0.3)
                        .build());
        MixedPrecision amp = Sides.enable(
                network,
                config(side).gradientPenalty(penalty).clipGradientNorm(0.3).build());
        INDArray before = network.params().dup();
        fit(expected, 2);
        try (Pause fp32 = amp.pause()) {
            fit(network, 2);
        }
        INDArray plain = kind.network().params();
        assertEquals(before, plain);
        assertClose(expected.params().sub(before), network.params().sub(before));
        assertTrue(amp.gradientNorm().orElseThrow() > 0.3, "something was clipped");
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void anUpdaterThatIsReplacedInsideStillLeavesTheStepToMixedPrecision(Kind kind, Side side) {
        Model stock = kind.network();
        Model network = kind.network();
        MixedPrecision amp = side.enable(network);
        fit(stock, 1);
        Kind.setLearningRate(stock, 0.001);
        fit(stock, 2);
        try (Pause fp32 = amp.pause()) {
            fit(network, 1);
            Kind.setLearningRate(network, 0.001);
            fit(network, 2);
        }
        assertClose(stock.params(), network.params());
        assertEquals(3, amp.stepsTaken());
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void aGradientViewThatIsMadeInsideIsWrittenToOutside(Kind kind, Side side) {
        Model stock = kind.network();
        Model network = kind.network();
        INDArray before = stock.params().dup();
        MixedPrecision amp = side.enable(network);
        fit(stock, 4);
        fit(network, 1);
        try (Pause fp32 = amp.pause()) {
            Networks.renewGradientsView(network);
            fit(network, 1);
        }
        fit(network, 2);
        assertEquals(4, amp.stepsTaken());
        side.assertLearnedAlike(before, stock, network);
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void aListenerThatEvaluatesInAPauseDisturbsNothing(Kind kind, Side side) {
        Model undisturbed = kind.network();
        Model network = kind.network();
        side.enable(undisturbed);
        MixedPrecision amp = side.enable(network);
        List<INDArray> seen = new ArrayList<>();
        listen(network, new BaseTrainingListener() {
            @Override
            public void iterationDone(Model model, int iteration, int epoch) {
                try (Pause fp32 = amp.pause()) {
                    seen.add(Kind.output(network, Kind.data().getFeatures()));
                }
            }
        });
        fit(undisturbed, 4);
        fit(network, 4);
        assertEquals(undisturbed.params(), network.params());
        Model stock = kind.network();
        stock.setParams(network.params());
        assertEquals(Kind.output(stock, Kind.data().getFeatures()), seen.get(3));
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void whatIsSavedInAPauseIsTheTrainingWithoutIt(Kind kind, Side side) throws IOException {
        Model network = kind.network();
        MixedPrecision amp = side.enable(network);
        fit(network, 2);
        File file = folder.resolve("model.zip").toFile();
        try (Pause fp32 = amp.pause()) {
            AmpModelSerializer.writeModel(network, file, true);
        }
        Model restored = kind == Kind.MULTI_LAYER
                ? AmpModelSerializer.restoreMultiLayerNetwork(file)
                : AmpModelSerializer.restoreComputationGraph(file);
        assertFalse(MixedPrecision.of(restored).orElseThrow().isPaused());
        fit(network, 2);
        fit(restored, 2);
        assertEquals(network.params(), restored.params());
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void closingInAPauseGivesTheNetworkBackAsItWas(Kind kind, Side side) {
        Model network = kind.network();
        Model stock = kind.network();
        Layer[] own = layers(network);
        MixedPrecision amp = side.enable(network);
        Pause fp32 = amp.pause();
        amp.close();
        assertFalse(amp.isPaused());
        assertArrayEquals(own, layers(network));
        assertTrue(MixedPrecision.of(network).isEmpty());
        assertRefused(fp32::close, "Pause.close", "is closed");
        assertRefused(amp::pause, "pause", "is closed");
        fit(stock, 2);
        fit(network, 2);
        assertEquals(stock.params(), network.params());
    }

    // --- bad input

    private final MultiLayerNetwork network = (MultiLayerNetwork) Kind.MULTI_LAYER.network();
    private final MixedPrecision amp = Side.here().findFirst().orElseThrow().enable(network);

    private static void assertRefused(Runnable call, String... parts) {
        AmpException thrown = assertThrows(AmpException.class, call::run);
        for (String part : parts) {
            assertTrue(thrown.getMessage().contains(part), thrown.getMessage());
        }
    }

    @Test
    void aPauseThatIsClosedTwiceOrOutOfOrderIsRefused() {
        Pause outer = amp.pause();
        Pause inner = amp.pause();
        assertRefused(outer::close, "isn't the last", "close the others before it");
        assertTrue(amp.isPaused());
        inner.close();
        assertRefused(inner::close, "closed already");
        assertTrue(amp.isPaused());
        outer.close();
        assertRefused(outer::close, "closed already");
        assertFalse(amp.isPaused());
        network.fit(Kind.data());
        assertEquals(1, amp.stepsTaken());
    }

    @Test
    void anotherThreadNeitherClosesAPauseNorNestsOneInIt() {
        Pause pause = amp.pause();
        for (Runnable call : List.<Runnable>of(pause::close, amp::pause)) {
            CompletionException thrown = assertThrows(CompletionException.class, () -> CompletableFuture.runAsync(call)
                    .join());
            assertTrue(
                    thrown.getCause() instanceof AmpException
                            && thrown.getCause()
                                    .getMessage()
                                    .contains(Thread.currentThread().getName()),
                    thrown::toString);
        }
        assertTrue(amp.isPaused());
        pause.close();
        assertFalse(amp.isPaused());
    }

    @Test
    void withinAPassAPauseIsNeitherBegunNorClosed() {
        List<AmpException> thrown = new ArrayList<>();
        Pause[] pause = new Pause[1];
        network.setListeners(new BaseTrainingListener() {
            @Override
            public void onForwardPass(Model model, List<INDArray> activations) {
                thrown.add(assertThrows(AmpException.class, () -> (pause[0] == null ? amp.pause() : pause[0]).close()));
            }
        });
        network.fit(Kind.data());
        assertFalse(amp.isPaused());
        pause[0] = amp.pause();
        network.fit(Kind.data());
        assertTrue(amp.isPaused());
        pause[0].close();
        assertEquals(2, amp.stepsTaken());
        assertTrue(thrown.get(0).getMessage().contains("MixedPrecision.pause"), thrown::toString);
        assertTrue(thrown.get(1).getMessage().contains("Pause.close"), thrown::toString);
    }

    @Test
    void whileItIsPausedANetworkIsEnabledAndNeitherEnabledAgainNorInInferenceMode() {
        try (Pause fp32 = amp.pause()) {
            assertRefused(() -> MixedPrecision.enable(network), "enabled on it already");
            assertRefused(() -> MixedPrecision.inference(network), "enabled on it already");
        }
    }

    /** Kept parameters within their limits are what a wrapper has to hold in a step that is skipped. */
    @ParameterizedTest
    @MethodSource("everywhere")
    void constraintsMoveNothingInAStepThatIsSkippedInside(Kind kind, Side side) {
        Model constrained = of(
                kind,
                Networks.builder(new Adam(1e-2))
                        .constrainWeights(new NonNegativeConstraint())
                        .list()
                        .layer(Networks.dense(8, Activation.TANH))
                        .layer(Networks.softmax(3))
                        .setInputType(InputType.feedForward(20))
                        .build());
        MixedPrecision enabled = side.enable(constrained);
        INDArray before = constrained.params().dup();
        assertTrue(before.minNumber().doubleValue() < 0);
        DataSet bad = Kind.data();
        bad.getFeatures().putScalar(0, 3, Double.NaN);
        try (Pause fp32 = enabled.pause()) {
            Kind.fit(constrained, bad);
            assertEquals(before, constrained.params());
            fit(constrained, 1);
        }
        assertNotEquals(before, constrained.params());
    }
}
