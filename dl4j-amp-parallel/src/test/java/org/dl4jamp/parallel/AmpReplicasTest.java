package org.dl4jamp.parallel;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.deeplearning4j.datasets.iterator.IteratorMultiDataSetIterator;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.deeplearning4j.parallelism.ParallelWrapper.TrainingMode;
import org.dl4jamp.AmpModelSerializer;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.ServesOneNetwork;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;

// In a thread of its own: DL4J's waiting can't be interrupted.
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class AmpReplicasTest {
    private static final List<DataSet> TRAIN = Replicas.batches(20, 32, 1);

    @ParameterizedTest
    @CsvSource({"AVERAGING, false", "AVERAGING, true", "SHARED_GRADIENTS, false", "SHARED_GRADIENTS, true"})
    void everyReplicaIsInMixedPrecisionFromItsFirstStepOnAndGoesOnFromFitToFit(TrainingMode mode, boolean graph)
            throws Exception {
        Model net = Replicas.initialized(graph);
        try (ParallelWrapper wrapper = Replicas.wrapper(net, 2, mode);
                AmpReplicas amp = AmpReplicas.installIn(wrapper, Replicas.half())) {
            long skipped = 0;
            int tracker = 0;
            for (int fit = 1; fit <= 3; fit++) {
                wrapper.fit(Replicas.iterator(TRAIN));
                List<ReplicaState> states = amp.states();
                assertEquals(2, states.size());
                for (ReplicaState state : states) {
                    assertEquals(Precision.HALF, state.precision());
                    assertEquals("nd4j", state.engine());
                    assertEquals(10L * fit, state.stepsTaken() + state.stepsSkipped(), state::toString);
                    // All steps are skipped until the scale fits, which isn't looked for again in the next fit.
                    assertEquals(
                            0x1p22 * Math.pow(0.5, (double) state.stepsSkipped()), state.lossScale(), state::toString);
                }
                int grown = states.get(1).state().scaler().growthTracker();
                assertTrue(fit == 1 || grown == tracker + 10, states::toString);
                tracker = grown;
                long now = states.get(1).stepsSkipped();
                assertTrue(fit == 1 ? now > 0 : now == skipped, states::toString);
                skipped = now;
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"false", "true"})
    void averagingIsWhatItIsByHand(boolean graph) throws Exception {
        Model net = Replicas.initialized(graph);
        Model first = Replicas.initialized(graph);
        Model second = Replicas.initialized(graph);
        try (ParallelWrapper wrapper = Replicas.wrapper(net, 2, TrainingMode.AVERAGING);
                AmpReplicas amp = AmpReplicas.installIn(wrapper, Replicas.half());
                MixedPrecision ofFirst = Enabling.enable(first, Optional.of(Replicas.half()));
                MixedPrecision ofSecond = Enabling.enable(second, Optional.of(Replicas.half()))) {
            wrapper.fit(Replicas.iterator(TRAIN));
            for (int i = 0; i < TRAIN.size(); i += 2) {
                Replicas.fit(first, TRAIN.get(i));
                Replicas.fit(second, TRAIN.get(i + 1));
                average(first.params(), second.params());
                average(Replicas.updaterState(first), Replicas.updaterState(second));
            }
            assertArrayEquals(first.params().toFloatVector(), net.params().toFloatVector(), 1e-6f);
            assertEquals(ofFirst.stepsSkipped(), amp.states().get(0).stepsSkipped());
            assertEquals(ofSecond.stepsSkipped(), amp.states().get(1).stepsSkipped());
        }
    }

    private static void average(INDArray one, INDArray other) {
        one.addi(other).muli(0.5);
        other.assign(one);
    }

    @ParameterizedTest
    @EnumSource(value = TrainingMode.class, names = "CUSTOM", mode = EnumSource.Mode.EXCLUDE)
    void anEnabledNetworkStaysEnabledWithItsOwnMixedPrecision(TrainingMode mode) throws Exception {
        Model net = Replicas.initialized(false);
        MixedPrecision own = MixedPrecision.enable((MultiLayerNetwork) net, Replicas.half());
        try (ParallelWrapper wrapper = Replicas.wrapper(net, 2, mode)) {
            try (AmpReplicas amp = AmpReplicas.installIn(wrapper)) {
                wrapper.fit(Replicas.iterator(TRAIN));
                wrapper.fit(Replicas.iterator(TRAIN));
                assertSame(own, MixedPrecision.of(net).orElseThrow());
                assertEquals(20, own.stepsTaken() + own.stepsSkipped());
                assertEquals(own.state().scaler(), amp.states().get(0).state().scaler());
                assertEquals(Precision.HALF, amp.states().get(1).precision());
            }
            assertFalse(own.isClosed());
        }
        own.close();
    }

    @Test
    void aPlainNetworkIsEnabledUntilItsReplicasAreClosedAndPlainAfterwards() throws Exception {
        MultiLayerNetwork net = (MultiLayerNetwork) Replicas.initialized(false);
        Layer[] layers = net.getLayers().clone();
        try (ParallelWrapper wrapper = Replicas.wrapper(net, 2, TrainingMode.AVERAGING)) {
            AmpReplicas amp = AmpReplicas.installIn(wrapper, Replicas.half());
            wrapper.fit(Replicas.iterator(TRAIN));
            assertTrue(MixedPrecision.of(net).isPresent());
            amp.close();
            amp.close();
            assertTrue(MixedPrecision.of(net).isEmpty());
            for (int i = 0; i < layers.length; i++) {
                assertSame(layers[i], net.getLayer(i));
            }
            List<ReplicaState> after = amp.states();
            wrapper.fit(Replicas.iterator(TRAIN));
            assertEquals(after, amp.states());
        }
    }

    @Test
    void mixedPrecisionThatWasClosedBetweenFitsIsOnAgainInTheNextWithItsState() throws Exception {
        Model net = Replicas.initialized(false);
        try (ParallelWrapper wrapper = Replicas.wrapper(net, 2, TrainingMode.AVERAGING);
                AmpReplicas amp = AmpReplicas.installIn(wrapper, Replicas.half())) {
            wrapper.fit(Replicas.iterator(TRAIN));
            ReplicaState before = amp.states().get(0);
            MixedPrecision.of(net).orElseThrow().close();
            wrapper.fit(Replicas.iterator(TRAIN));
            assertEquals(before.stepsTaken() + 10, amp.states().get(0).stepsTaken());
            assertEquals(before.lossScale(), amp.states().get(0).lossScale());
        }
    }

    @ParameterizedTest
    @CsvSource({"false", "true"})
    void theStateGoesIntoASavedModelAndOnFromThere(boolean graph, @TempDir Path folder) throws Exception {
        File file = folder.resolve("model.zip").toFile();
        Model net = Replicas.initialized(graph);
        ReplicaState saved;
        try (ParallelWrapper wrapper = Replicas.wrapper(net, 2, TrainingMode.AVERAGING);
                AmpReplicas amp = AmpReplicas.installIn(wrapper, Replicas.half())) {
            wrapper.fit(Replicas.iterator(TRAIN));
            AmpModelSerializer.writeModel(net, file, true);
            saved = amp.states().get(0);
        }
        Model restored = graph
                ? AmpModelSerializer.restoreComputationGraph(file)
                : AmpModelSerializer.restoreMultiLayerNetwork(file);
        try (ParallelWrapper wrapper = Replicas.wrapper(restored, 2, TrainingMode.AVERAGING);
                AmpReplicas amp = AmpReplicas.installIn(wrapper)) {
            assertEquals(saved.state().scaler(), amp.states().get(0).state().scaler());
            wrapper.fit(Replicas.iterator(TRAIN));
            ReplicaState source = amp.states().get(0);
            ReplicaState other = amp.states().get(1);
            assertEquals(saved.stepsTaken() + 10, source.stepsTaken());
            assertEquals(saved.stepsSkipped(), source.stepsSkipped());
            assertEquals(10, other.stepsTaken(), "a new replica begins with the scale that was found");
            assertEquals(saved.lossScale(), other.lossScale());
        }
    }

    @Test
    void settingsOfTheConfigurationAreThoseOfAllReplicas() throws Exception {
        MultiLayerNetwork net = Networks.init(MixedPrecision.configure(Replicas.layers(), Replicas.half()));
        try (ParallelWrapper wrapper = Replicas.wrapper(net, 3, TrainingMode.AVERAGING);
                AmpReplicas amp = AmpReplicas.installIn(wrapper)) {
            wrapper.fit(Replicas.iterator(TRAIN));
            assertEquals(3, amp.states().size());
            for (ReplicaState state : amp.states()) {
                assertEquals(Replicas.half().toString(), state.state().config().toString());
                assertEquals(Precision.HALF, state.precision());
            }
        }
    }

    /**
     * Returns batches of which every other, which replica 1 gets, has gradients that overflow in HALF at scales at
     * which those of the others don't.
     */
    private static List<DataSet> overflowingInReplica1() {
        List<DataSet> batches = Replicas.batches(20, 32, 1);
        for (int i = 1; i < batches.size(); i += 2) {
            batches.get(i).getFeatures().muli(256);
        }
        return batches;
    }

    @ParameterizedTest
    @CsvSource({"AVERAGING, false", "AVERAGING, true", "SHARED_GRADIENTS, false", "SHARED_GRADIENTS, true"})
    void scalesAreEachReplicasOwnOrTheLowestOfAll(TrainingMode mode, boolean agreed) throws Exception {
        List<DataSet> batches = overflowingInReplica1();
        Model net = Replicas.initialized(false);
        try (ParallelWrapper wrapper = Replicas.wrapper(net, 2, mode)) {
            AmpReplicas.Builder builder = AmpReplicas.builder(wrapper).config(Replicas.half());
            try (AmpReplicas amp = agreed ? builder.agreedScale().install() : builder.install()) {
                wrapper.fit(Replicas.iterator(batches));
                double ofFirst = amp.states().get(0).lossScale();
                double ofSecond = amp.states().get(1).lossScale();
                assertTrue(agreed ? ofFirst == ofSecond : ofFirst < ofSecond, () -> amp.states()
                        .toString());
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"AVERAGING, false", "AVERAGING, true", "SHARED_GRADIENTS, false", "SHARED_GRADIENTS, true"})
    void multiDataSetsTrainReplicasOfAGraphWithScalesOfTheirOwnOrTheLowest(TrainingMode mode, boolean agreed)
            throws Exception {
        List<DataSet> batches = overflowingInReplica1();
        Model net = Replicas.initialized(true);
        try (ParallelWrapper wrapper = Replicas.wrapper(net, 2, mode)) {
            AmpReplicas.Builder builder = AmpReplicas.builder(wrapper).config(Replicas.half());
            try (AmpReplicas amp = agreed ? builder.agreedScale().install() : builder.install()) {
                INDArray before = net.params().dup();
                wrapper.fit(new IteratorMultiDataSetIterator(
                        batches.stream().map(DataSet::toMultiDataSet).iterator(), 32));
                List<ReplicaState> states = amp.states();
                assertEquals(2, states.size());
                states.forEach(state -> assertEquals(10, state.stepsTaken() + state.stepsSkipped(), state::toString));
                double ofFirst = states.get(0).lossScale();
                double ofSecond = states.get(1).lossScale();
                assertTrue(ofFirst < 0x1p22 && (agreed ? ofFirst == ofSecond : ofFirst < ofSecond), states::toString);
                assertFalse(before.equalsWithEps(net.params(), 1e-7));
            }
        }
    }

    @Test
    void aGraphThatWasTrainedWithSharedGradientsTrainsAloneAfterwards() throws Exception {
        ComputationGraph net = (ComputationGraph) Replicas.initialized(true);
        try (ParallelWrapper wrapper = Replicas.wrapper(net, 2, TrainingMode.SHARED_GRADIENTS);
                AmpReplicas amp = AmpReplicas.installIn(wrapper, Replicas.half())) {
            wrapper.fit(Replicas.iterator(TRAIN));
            long taken = amp.states().get(0).stepsTaken();
            INDArray before = net.params().dup();
            net.fit(TRAIN.get(0));
            assertEquals(taken + 1, amp.states().get(0).stepsTaken());
            assertFalse(before.equalsWithEps(net.params(), 1e-7));
        }
    }

    @Test
    void wrappersThatAreFittedAtOnceDontKnowOfEachOther() throws Exception {
        float[] half = trained(Replicas.half());
        float[] oneDnn = trained(Replicas.oneDnn());
        ExecutorService threads = Executors.newFixedThreadPool(2);
        try {
            CompletableFuture<float[]> one = CompletableFuture.supplyAsync(() -> trained(Replicas.half()), threads);
            CompletableFuture<float[]> other = CompletableFuture.supplyAsync(() -> trained(Replicas.oneDnn()), threads);
            assertArrayEquals(half, one.get(200, TimeUnit.SECONDS), 1e-4f);
            assertArrayEquals(oneDnn, other.get(200, TimeUnit.SECONDS), 1e-4f);
        } finally {
            threads.shutdown();
        }
    }

    private static float[] trained(AmpConfig config) {
        Model net = Replicas.initialized(false);
        ParallelWrapper wrapper = Replicas.wrapper(net, 2, TrainingMode.AVERAGING);
        try (AmpReplicas amp =
                AmpReplicas.builder(wrapper).config(config).threadsPerReplica(1).install()) {
            wrapper.fit(Replicas.iterator(TRAIN));
            assertEquals(2, amp.states().size());
            return net.params().toFloatVector();
        }
    }

    @Test
    void eachReplicaTakesAsManyThreadsAsItsToldAndTheCallerKeepsItsOwn() throws Exception {
        Map<String, Integer> threads = new ConcurrentHashMap<>();
        Model net = Replicas.initialized(false);
        net.setListeners(
                List.of(onIteration(() -> threads.put(Thread.currentThread().getName(), OpenMp.threads()))));
        int before = OpenMp.threads();
        try (ParallelWrapper wrapper = Replicas.wrapper(net, 2, TrainingMode.AVERAGING);
                AmpReplicas amp = AmpReplicas.builder(wrapper)
                        .config(Replicas.half())
                        .threadsPerReplica(3)
                        .install()) {
            wrapper.fit(Replicas.iterator(TRAIN));
            assertEquals(2, amp.states().size());
        }
        assertEquals(List.of(3, 3), List.copyOf(threads.values()), threads::toString);
        assertEquals(before, OpenMp.threads());
    }

    private static TrainingListener onIteration(Runnable action) {
        return new BaseTrainingListener() {
            @Override
            public void iterationDone(Model model, int iteration, int epoch) {
                action.run();
            }
        };
    }

    @Test
    void listenersHearEveryReplicaUnlessTheyServeOneNetwork() throws Exception {
        class OfOne extends BaseTrainingListener implements ServesOneNetwork {
            private final Map<Model, Integer> heard = new ConcurrentHashMap<>();

            @Override
            public void iterationDone(Model model, int iteration, int epoch) {
                heard.merge(model, 1, Integer::sum);
            }
        }
        Model net = Replicas.initialized(false);
        OfOne ofOne = new OfOne();
        Map<String, Integer> ofAll = new ConcurrentHashMap<>();
        net.setListeners(List.of(
                ofOne, onIteration(() -> ofAll.merge(Thread.currentThread().getName(), 1, Integer::sum))));
        try (ParallelWrapper wrapper = Replicas.wrapper(net, 2, TrainingMode.AVERAGING);
                AmpReplicas amp = AmpReplicas.installIn(wrapper, Replicas.half())) {
            wrapper.fit(Replicas.iterator(TRAIN));
            assertEquals(2, amp.states().size());
        }
        assertEquals(List.of(10, 10), List.copyOf(ofAll.values()));
        assertEquals(List.of(10), List.copyOf(ofOne.heard.values()));
        assertSame(net, ofOne.heard.keySet().iterator().next());
    }

    @Test
    void rulesByPredicateAndScalersOfTheUsersOwnStayInTheProcessAndWork() throws Exception {
        AmpConfig config = AmpConfig.builder()
                .precision(Precision.HALF)
                .engine("nd4j")
                .keepFull(layer -> "layer0".equals(layer.getLayerName()))
                .lossScaler(new HalvingScaler(0x1p22))
                .scaleSearch(0)
                .build();
        Model net = Replicas.initialized(false);
        try (ParallelWrapper wrapper = Replicas.wrapper(net, 2, TrainingMode.AVERAGING);
                AmpReplicas amp = AmpReplicas.installIn(wrapper, config)) {
            wrapper.fit(Replicas.iterator(TRAIN));
            wrapper.fit(Replicas.iterator(TRAIN));
            for (ReplicaState state : amp.states()) {
                assertEquals(20, state.stepsTaken() + state.stepsSkipped());
                assertEquals(HalvingScaler.KIND, state.state().scaler().kind());
                assertEquals(0x1p22 * Math.pow(0.5, (double) state.stepsSkipped()), state.lossScale());
            }
        }
    }
}
