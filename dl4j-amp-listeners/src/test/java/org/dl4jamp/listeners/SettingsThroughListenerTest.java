package org.dl4jamp.listeners;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Method;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.config.GradientPenalty;
import org.dl4jamp.config.PartialGroup;
import org.dl4jamp.precision.OptLevel;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.DynamicLossScaler;
import org.dl4jamp.scale.LossScaler;
import org.dl4jamp.scale.SharedLossScale;
import org.dl4jamp.scale.StaticLossScaler;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;

/** Every setting, given through the listener: training is bit for bit that of a network that was enabled with it. */
class SettingsThroughListenerTest {
    private static final int BATCHES = 5;

    /** By the name of the builder's method, ways to call it. */
    private static final Map<String, List<UnaryOperator<AmpConfig.Builder>>> SETTINGS = new LinkedHashMap<>();

    private static void setting(String name, List<UnaryOperator<AmpConfig.Builder>> ways) {
        SETTINGS.put(name, ways);
    }

    static {
        setting(
                "precision",
                Stream.of(Precision.values())
                        .<UnaryOperator<AmpConfig.Builder>>map(precision -> config -> config.precision(precision))
                        .toList());
        setting(
                "optLevel",
                Stream.of(OptLevel.values())
                        .<UnaryOperator<AmpConfig.Builder>>map(level -> config -> config.optLevel(level))
                        .toList());
        setting("engine", List.of(config -> config.engine("dl4j").precision(Precision.FLOAT)));
        setting(
                "keepFull",
                List.of(
                        config -> config.keepFull("first|0"),
                        config -> config.keepFull(DenseLayer.class),
                        config -> config.keepFull(layer -> layer instanceof DenseLayer)));
        setting(
                "lower",
                List.of(
                        config -> config.lower("first|0"),
                        config -> config.lower(DenseLayer.class),
                        config -> config.lower(layer -> layer instanceof DenseLayer)));
        setting(
                "lossScaler",
                List.of(
                        config -> config.lossScaler(new StaticLossScaler(64)),
                        config -> config.lossScaler(DynamicLossScaler.builder()
                                .initialScale(1 << 24)
                                .growthInterval(2)
                                .build())));
        setting(
                "sharedLossScale",
                List.of(config -> config.sharedLossScale(new SharedLossScale(new StaticLossScaler(16)))));
        setting("maxConsecutiveSkips", List.of(config -> config.maxConsecutiveSkips(3)));
        setting("gradientPenalty", List.of(config -> config.gradientPenalty(GradientPenalty.of(0.05, 0.05))));
        setting(
                "accumulate",
                List.of(
                        config -> config.accumulate(2),
                        config -> config.accumulate(3, PartialGroup.APPLY),
                        config -> config.accumulate(3, PartialGroup.CARRY_OVER),
                        config -> config.accumulate(7)));
        setting("clipGradientNorm", List.of(config -> config.clipGradientNorm(0.05)));
        setting("clipGradientValue", List.of(config -> config.clipGradientValue(0.01)));
        setting(
                "scaleSearch",
                List.of(
                        config -> tooLarge(config).scaleSearch(0),
                        config -> tooLarge(config).scaleSearch(2),
                        config -> tooLarge(config).scaleSearch(100)));
        setting("layerScales", List.of(config -> config.precision(Precision.HALF)
                .layerScales(true)));
        setting("selfHealing", List.of(config -> tooLarge(config).selfHealing(true)));
        setting("measureGradientNorm", List.of(config -> config.measureGradientNorm(true)));
    }

    private static AmpConfig.Builder tooLarge(AmpConfig.Builder config) {
        return config.precision(Precision.HALF)
                .lossScaler(DynamicLossScaler.builder().initialScale(1 << 24).build());
    }

    @Test
    void noSettingIsLeftOut() {
        Set<String> methods = new TreeSet<>();
        for (Method method : AmpConfig.Builder.class.getMethods()) {
            if (method.getReturnType().isAssignableFrom(AmpConfig.Builder.class)
                    && method.getDeclaringClass() != Object.class) {
                methods.add(method.getName());
            }
        }
        assertEquals(methods, new TreeSet<>(SETTINGS.keySet()));
    }

    private static Model network(boolean graph) {
        MultiLayerNetwork network =
                SmallNetwork.of(new Adam(0.01), SmallNetwork.hidden("first", 8), SmallNetwork.hidden(null, 6));
        return graph ? network.toComputationGraph() : network;
    }

    private static List<DataSet> batches() {
        Nd4j.getRandom().setSeed(3);
        return Stream.generate(() -> new DataSet(
                        Nd4j.rand(DataType.FLOAT, 4, 4),
                        Nd4j.createFromArray(new float[][] {{1, 0}, {0, 1}, {1, 0}, {0, 1}})))
                .limit(BATCHES)
                .toList();
    }

    private static void fit(Model network, DataSet batch) {
        if (network instanceof ComputationGraph graph) {
            graph.fit(batch);
        } else {
            ((MultiLayerNetwork) network).fit(batch);
        }
    }

    private static void fit(Model network, int epochs) {
        DataSetIterator iterator = new ExistingDataSetIterator(batches());
        if (network instanceof ComputationGraph graph) {
            graph.fit(iterator, epochs);
        } else {
            ((MultiLayerNetwork) network).fit(iterator, epochs);
        }
    }

    /** Ends the iterations of a shared scale, of which both networks have one of their own. */
    private static final class Update extends BaseTrainingListener {
        private final AmpConfig config;
        private int iterations;

        Update(AmpConfig config) {
            this.config = config;
        }

        @Override
        public void iterationDone(Model model, int iteration, int epoch) {
            iterations++;
            if (config.toString().contains("sharedLossScale(")
                    && MixedPrecision.of(model).isPresent()) {
                MixedPrecision amp = MixedPrecision.of(model).orElseThrow();
                if (amp.stepsTaken() + amp.stepsSkipped() > 0) {
                    SHARED.get(config).update();
                }
            }
        }
    }

    private static final IdentityHashMap<AmpConfig, SharedLossScale> SHARED = new IdentityHashMap<>();

    private static AmpConfig config(String name, UnaryOperator<AmpConfig.Builder> way) {
        AmpConfig.Builder builder =
                AmpConfig.builder().precision(Precision.HALF).engine("nd4j");
        if (!name.equals("sharedLossScale")) {
            return way.apply(builder).build();
        }
        SharedLossScale shared = new SharedLossScale(new StaticLossScaler(16));
        AmpConfig config = builder.sharedLossScale(shared).build();
        SHARED.put(config, shared);
        return config;
    }

    @TestFactory
    Stream<DynamicTest> trainingIsThatOfANetworkThatWasEnabledWithIt() {
        return Stream.of(false, true)
                .flatMap(graph -> SETTINGS.entrySet().stream().flatMap(setting -> setting.getValue().stream()
                        .map(way -> DynamicTest.dynamicTest(
                                config(setting.getKey(), way) + (graph ? ", graph" : ", layers"), () -> {
                                    Supplier<AmpConfig> config = () -> config(setting.getKey(), way);
                                    assertWholeEpochsAreAlike(graph, config.get(), config.get());
                                    assertSingleFitsAreAlike(graph, config.get(), config.get());
                                }))));
    }

    private static void assertAlike(Model expected, Model actual, AmpListener listener) {
        MixedPrecision enabled = MixedPrecision.of(expected).orElseThrow();
        MixedPrecision attached = listener.mixedPrecision().orElseThrow();
        assertSame(attached, MixedPrecision.of(actual).orElseThrow());
        assertEquals(enabled.stepsTaken(), attached.stepsTaken());
        assertEquals(enabled.stepsSkipped(), attached.stepsSkipped());
        assertEquals(enabled.lossScale(), attached.lossScale());
        assertEquals(enabled.gradientNorm(), attached.gradientNorm());
        assertEquals(enabled.plan().toString(), attached.plan().toString());
        assertArrayEquals(
                expected.params().reshape(expected.params().length()).toFloatVector(),
                actual.params().reshape(actual.params().length()).toFloatVector());
    }

    private static void assertWholeEpochsAreAlike(boolean graph, AmpConfig one, AmpConfig other) {
        Model expected = network(graph);
        Model actual = network(graph);
        MixedPrecision.enable(expected, one);
        expected.setListeners(new Update(one));
        AmpListener listener = new AmpListener(other);
        Update update = new Update(other);
        actual.setListeners(listener, update);
        fit(expected, 3);
        fit(actual, 3);
        assertAlike(expected, actual, listener);
        assertNotEquals(network(graph).params(), actual.params());
        assertEquals(3 * BATCHES, update.iterations);
        listener.mixedPrecision().orElseThrow().close();
        fit(actual, 1);
        assertEquals(4 * BATCHES, update.iterations);
    }

    /** The first is in FP32. */
    private static void assertSingleFitsAreAlike(boolean graph, AmpConfig one, AmpConfig other) {
        Model expected = network(graph);
        Model actual = network(graph);
        AmpListener listener = new AmpListener(other);
        Update update = new Update(other);
        actual.setListeners(listener, update);
        List<DataSet> batches = batches();
        if (one.optLevel() == OptLevel.O3) {
            // The step in which the listener attaches ends with rounded parameters.
            expected.setListeners(new BaseTrainingListener() {
                @Override
                public void iterationDone(Model model, int iteration, int epoch) {
                    MixedPrecision.enable(model, one);
                }
            });
            fit(expected, batches.get(0));
        } else {
            fit(expected, batches.get(0));
            MixedPrecision.enable(expected, one);
        }
        expected.setListeners(new Update(one));
        fit(actual, batches.get(0));
        for (int epoch = 0; epoch < 2; epoch++) {
            for (DataSet batch : batches) {
                fit(expected, batch);
                fit(actual, batch);
            }
        }
        assertAlike(expected, actual, listener);
        assertEquals(2 * BATCHES + 1, update.iterations);
        assertTrue(listener.mixedPrecision().isPresent());
    }

    /** A scaler that is shared is the very one. */
    @Test
    void aSharedScalerIsTheVeryOne() {
        LossScaler scaler = DynamicLossScaler.builder().build();
        AmpListener listener = new AmpListener(AmpConfig.builder()
                .precision(Precision.HALF)
                .engine("nd4j")
                .sharedLossScale(new SharedLossScale(scaler))
                .build());
        MultiLayerNetwork network = (MultiLayerNetwork) network(false);
        network.setListeners(listener);
        // One step: a second one needs SharedLossScale.update() before it.
        network.fit(new ExistingDataSetIterator(batches().subList(0, 1)), 1);
        assertSame(scaler, listener.mixedPrecision().orElseThrow().lossScaler());
    }
}
