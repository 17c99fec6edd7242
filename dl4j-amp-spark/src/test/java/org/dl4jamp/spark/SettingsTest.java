package org.dl4jamp.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.spark.SparkException;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.spark.impl.multilayer.SparkDl4jMultiLayer;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.checkpoint.AmpState;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.scale.DynamicLossScaler;
import org.dl4jamp.scale.SharedLossScale;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.nd4j.linalg.dataset.DataSet;

/** The settings that tasks train with: those of {@link SparkAmp}, of its state, or of the network's configuration. */
@EnabledForJreRange(maxVersion = 22, disabledReason = "Spark 3.5 needs Subject.getSubject, which newer JDKs lack")
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SettingsTest {
    private static final AmpConfig CONFIG = Averaging.UNUSUAL;

    private final JavaSparkContext context = Cluster.start();
    private final Witness witness = new Witness(context);

    @AfterEach
    void stop() {
        context.close();
    }

    @Test
    void settingsOfSparkAmpAreThoseOfEveryStep() {
        SparkAmp amp = SparkAmp.on(context, CONFIG);
        network(amp, Blobs.network()).fit(rdd());
        assertEquals(20, amp.report().stepsTaken() + amp.report().stepsSkipped());
        assertEquals(Set.of(Averaging.describe(CONFIG)), seen());
        assertEquals(CONFIG.toString(), amp.state().orElseThrow().config().toString());
    }

    @Test
    void settingsOfSparkAmpAreThoseOfEveryStepWithSharedGradients() {
        SparkAmp amp = SparkAmp.on(context, CONFIG);
        SharedGradients.network(context, Blobs.network(), amp.listener(), witness)
                .fit(rdd());
        assertEquals(20, witness.seen().size());
        assertEquals(Set.of(Averaging.describe(CONFIG)), seen());
        Turn.await(() -> false).close();
    }

    @Test
    void settingsOfAStateAreThoseOfEveryStepAndTrainingGoesOnAsOnOneMachine() {
        MultiLayerNetwork alone = new MultiLayerNetwork(Blobs.network());
        alone.init();
        List<DataSet> data = Blobs.copies(20);
        try (MixedPrecision single = MixedPrecision.enable(alone, CONFIG)) {
            data.forEach(alone::fit);
            assertTrue(single.stepsSkipped() > 0);
            MultiLayerNetwork moved = new MultiLayerNetwork(Blobs.network());
            moved.init(alone.params().dup(), false);
            moved.getUpdater()
                    .setStateViewArray(
                            moved, alone.getUpdater().getStateViewArray().dup(), false);
            moved.setIterationCount(alone.getIterationCount());
            SparkAmp amp = SparkAmp.on(context, single.state());
            SparkDl4jMultiLayer spark = new SparkDl4jMultiLayer(
                    context,
                    moved,
                    Averaging.master(1).trainingHooks(amp.hook(), witness).build());
            spark.fit(context.parallelize(data, 1));
            data.forEach(alone::fit);
            assertEquals(Set.of(Averaging.describe(CONFIG)), seen());
            assertEquals(single.lossScale(), amp.state().orElseThrow().scaler().scale());
            assertEquals(single.stepsTaken(), amp.state().orElseThrow().stepsTaken());
            Averaging.assertClose(alone.params(), moved.params());
        }
    }

    @Test
    void stateOfAccumulatedStepsGoesOnWithAdamsCountOnceItsSettingsAreTakenOut() {
        AmpConfig accumulating = AmpConfig.builder()
                .precision(CONFIG.precision())
                .engine("nd4j")
                .accumulate(4)
                .build();
        AmpConfig plain = Blobs.half();
        MultiLayerNetwork alone = new MultiLayerNetwork(Blobs.network());
        alone.init();
        DataSet batch = Blobs.copies(1).get(0);
        AmpState state;
        try (MixedPrecision single = MixedPrecision.enable(alone, accumulating)) {
            for (int i = 0; i < 40; i++) {
                alone.fit(batch);
            }
            assertEquals(10, single.stepsTaken());
            state = single.state();
        }
        AmpState ofAccumulated = state;
        AmpException error = assertThrows(AmpException.class, () -> SparkAmp.on(context, ofAccumulated));
        assertTrue(error.getMessage().contains("state: accumulate(4)"), error.getMessage());
        assertTrue(error.getMessage().contains("new AmpState(config"), error.getMessage());
        AmpState goesOn = new AmpState(
                plain,
                state.scaler(),
                state.stepsTaken(),
                state.stepsSkipped(),
                state.consecutiveSkips(),
                state.iterationsWithoutStep(),
                Optional.empty());
        SparkAmp amp = SparkAmp.on(context, goesOn);
        MultiLayerNetwork moved = alone.clone();
        new SparkDl4jMultiLayer(
                        context,
                        moved,
                        Averaging.master(1).trainingHooks(amp.hook()).build())
                .fit(context.parallelize(Blobs.copies(5), 1));
        try (MixedPrecision single = MixedPrecision.enable(alone, goesOn)) {
            for (int i = 0; i < 5; i++) {
                alone.fit(batch);
            }
            Averaging.assertClose(alone.params(), moved.params());
            assertEquals(
                    single.state().iterationsWithoutStep(),
                    amp.state().orElseThrow().iterationsWithoutStep());
        }
    }

    @Test
    void settingsOfSparkAmpAndOfTheConfigurationThatDifferEndTheFitWithBoth() {
        AmpConfig other = Blobs.half(DynamicLossScaler.builder().initialScale(64));
        for (SparkAmp amp : List.of(SparkAmp.on(context, CONFIG), SparkAmp.on(context, stateWith(CONFIG)))) {
            SparkDl4jMultiLayer spark = network(amp, MixedPrecision.configure(Blobs.network(), other));
            Exception error = assertThrows(Exception.class, () -> spark.fit(rdd()));
            assertEquals(SparkException.class, error.getClass());
            assertTrue(error.getMessage().contains("SparkAmp.on was given the settings " + CONFIG), error.getMessage());
            assertTrue(error.getMessage().contains("the network's configuration carries " + other), error.getMessage());
            assertEquals(0, amp.report().stepsTaken());
        }
    }

    @Test
    void sameSettingsInBothPlacesAreNoContradiction() {
        SparkAmp amp = SparkAmp.on(context, stateWith(CONFIG));
        network(amp, MixedPrecision.configure(Blobs.network(), CONFIG)).fit(rdd());
        assertEquals(Set.of(Averaging.describe(CONFIG)), seen());
    }

    @Test
    void settingsThatTasksCannotHaveAreRefusedAtOnce() {
        Map<String, AmpConfig> refused = Map.of(
                "config: accumulate(2)", AmpConfig.builder().accumulate(2).build(),
                "config: selfHealing(true)",
                        AmpConfig.builder().selfHealing(true).build(),
                "a predicate is code",
                        AmpConfig.builder().keepFull(layer -> true).build(),
                "scaler that networks share",
                        AmpConfig.builder()
                                .sharedLossScale(new SharedLossScale(
                                        DynamicLossScaler.builder().build()))
                                .build());
        refused.forEach((message, config) -> {
            AmpException error = assertThrows(AmpException.class, () -> SparkAmp.on(context, config));
            assertTrue(error.getMessage().contains(message), error.getMessage());
        });
        AmpException error = assertThrows(AmpException.class, () -> SparkAmp.on(context, (AmpConfig) null));
        assertTrue(error.getMessage().contains("config: null"), error.getMessage());
    }

    private AmpState stateWith(AmpConfig config) {
        MultiLayerNetwork network = new MultiLayerNetwork(Blobs.network());
        network.init();
        try (MixedPrecision single = MixedPrecision.enable(network, config)) {
            return single.state();
        }
    }

    private Set<String> seen() {
        return witness.seen().stream().map(Witness.Seen::mixedPrecision).collect(Collectors.toSet());
    }

    private SparkDl4jMultiLayer network(SparkAmp amp, MultiLayerConfiguration configuration) {
        return new SparkDl4jMultiLayer(
                context,
                configuration,
                Averaging.master(Cluster.CORES)
                        .trainingHooks(amp.hook(), witness)
                        .build());
    }

    private JavaRDD<DataSet> rdd() {
        return context.parallelize(Blobs.batches(20, 1), Cluster.CORES);
    }
}
