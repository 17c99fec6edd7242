package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.function.Supplier;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.OptimizationAlgorithm;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.OptLevel;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.DynamicLossScaler;
import org.dl4jamp.scale.StaticLossScaler;
import org.dl4jamp.step.TrainingStep;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;
import org.slf4j.LoggerFactory;

/** Bad input gets a message with a remedy, and changes nothing. */
class BadInputTest {
    private final MultiLayerNetwork network = Networks.init(Networks.mlp());

    private static void assertRefused(Executable attempt, String... words) {
        AmpException refusal = assertThrows(AmpException.class, attempt);
        for (String word : words) {
            assertTrue(refusal.getMessage().contains(word), () -> "\"" + word + "\" in: " + refusal.getMessage());
        }
    }

    private void assertRefusedAndUntouched(Supplier<AmpConfig> config, String... words) {
        Layer[] layers = network.getLayers().clone();
        INDArray parameters = network.params().dup();
        Object updater = network.getUpdater(false);
        assertRefused(() -> MixedPrecision.enable(network, config.get()), words);
        for (int i = 0; i < layers.length; i++) {
            assertSame(layers[i], network.getLayers()[i]);
        }
        assertEquals(parameters, network.params());
        assertSame(updater, network.getUpdater(false));
        assertTrue(MixedPrecision.of(network).isEmpty());
    }

    @Test
    void parametersHaveToBeFloat() {
        MultiLayerNetwork doubles = Networks.init(Networks.builder(new Adam())
                .dataType(DataType.DOUBLE)
                .list()
                .layer(Networks.softmax(3))
                .setInputType(InputType.feedForward(4))
                .build());
        assertRefused(() -> MixedPrecision.enable(doubles), "DOUBLE", "FLOAT", "convertDataType");
    }

    @Test
    void theNetworkHasToBeInitialized() {
        assertRefused(() -> MixedPrecision.enable(new MultiLayerNetwork(Networks.mlp())), "init()");
        assertRefused(() -> MixedPrecision.enable((MultiLayerNetwork) null), "null", "MultiLayerNetwork");
        assertRefused(() -> MixedPrecision.enable(network, (AmpConfig) null), "config", "null");
    }

    @Test
    void aLayerWhoseInputWasClearedSaysThatItHasNone() {
        MixedPrecision.enable(
                network, AmpConfig.builder().precision(Precision.HALF).build());
        Layer layer = network.getLayer(0);
        layer.activate(Networks.vectors(8, 20, 3).getFeatures(), false, LayerWorkspaceMgr.noWorkspaces());
        layer.clear();
        assertRefused(
                () -> layer.activate(false, LayerWorkspaceMgr.noWorkspaces()),
                "layer0",
                "has no input",
                "Run the network forward again");
    }

    @Test
    void healingNeedsAModuleThatCoreLacks() {
        assertRefusedAndUntouched(
                () -> AmpConfig.builder().selfHealing(true).build(),
                "selfHealing(true)",
                "org.dl4jamp:dl4j-amp-listeners",
                "selfHealing(false)");
    }

    @Test
    void aNetworkWithoutParametersIsRefused() {
        MultiLayerNetwork empty = Networks.init(Networks.builder(new Adam())
                .list()
                .layer(new ActivationLayer(Activation.TANH))
                .layer(new LossLayer.Builder().build())
                .setInputType(InputType.feedForward(4))
                .build());
        assertRefused(() -> MixedPrecision.enable(empty), "network", "no parameters");
    }

    @Test
    void onlySgdCanSkipAStep() {
        MultiLayerNetwork lbfgs = Networks.init(Networks.builder(new Adam())
                .optimizationAlgo(OptimizationAlgorithm.LBFGS)
                .list()
                .layer(Networks.softmax(3))
                .setInputType(InputType.feedForward(4))
                .build());
        assertRefused(() -> MixedPrecision.enable(lbfgs), "LBFGS", "STOCHASTIC_GRADIENT_DESCENT");
    }

    @Test
    void enablingTwiceIsRefusedAndTheFirstStays() {
        MixedPrecision amp = MixedPrecision.enable(network, Gradients.config(Precision.HALF));
        Layer first = network.getLayers()[0];
        assertRefused(() -> MixedPrecision.enable(network), "already", "close()");
        assertSame(first, network.getLayers()[0]);
        assertSame(amp, MixedPrecision.of(network).orElseThrow());
    }

    @Test
    void anUnknownEngineIsAnsweredWithThoseThatExist() {
        assertRefusedAndUntouched(
                () -> AmpConfig.builder().engine("warp").build(), "warp", "nd4j", "available", "auto");
        assertRefused(() -> AmpConfig.builder().engine(" "), "engine", "auto");
    }

    @Test
    void aRuleThatMatchesNoLayerIsRefused() {
        assertRefusedAndUntouched(
                () -> AmpConfig.builder()
                        .precision(Precision.HALF)
                        .keepFull("bn_.*")
                        .build(),
                "bn_.*",
                "layer0",
                "layer2");
        assertRefusedAndUntouched(
                () -> AmpConfig.builder()
                        .precision(Precision.HALF)
                        .lower(LSTM.class)
                        .build(),
                "LSTM");
        assertRefusedAndUntouched(
                () -> AmpConfig.builder()
                        .precision(Precision.HALF)
                        .keepFull(layer -> false)
                        .build(),
                "predicate");
        assertRefused(() -> AmpConfig.builder().keepFull("("), "keepFull", "regular expression");
        assertRefused(() -> AmpConfig.builder().keepFull("(".repeat(200_000)), "keepFull", "(200000 characters)");
    }

    @Test
    void settingsOutOfRangeAreRefused() {
        assertRefused(() -> AmpConfig.builder().maxConsecutiveSkips(0), "maxConsecutiveSkips", "0", "at least 1");
        assertRefused(() -> DynamicLossScaler.builder().growthFactor(1).build(), "growthFactor", "1.0");
        assertRefused(() -> DynamicLossScaler.builder().backoffFactor(1).build(), "backoffFactor");
        assertRefused(() -> DynamicLossScaler.builder().initialScale(Double.NaN).build(), "initialScale", "NaN");
    }

    @Test
    void aNetworkWithNothingToLowerTrainsInFp32() {
        MultiLayerNetwork outputOnly = Networks.init(Networks.builder(new Adam())
                .list()
                .layer(Networks.softmax(3))
                .setInputType(InputType.feedForward(20))
                .build());
        MixedPrecision amp = MixedPrecision.enable(outputOnly, Gradients.config(Precision.HALF));
        outputOnly.fit(Networks.vectors(8, 20, 3));
        assertEquals(1, amp.stepsTaken());
        assertEquals(1, amp.lossScale());
    }

    @Test
    void nanInFeaturesSkipsTheStepAndLeavesTheScaleAlone() {
        MixedPrecision amp = MixedPrecision.enable(network, Gradients.config(Precision.HALF));
        DataSet data = Networks.vectors(8, 20, 3);
        data.getFeatures().putScalar(2, 7, Double.NaN);
        INDArray parameters = network.params().dup();
        network.fit(data);
        assertEquals(1, amp.stepsSkipped());
        assertEquals(65536, amp.lossScale());
        LossScalingTest.assertBitIdentical(parameters, network.params());
    }

    @Test
    void infiniteLabelsSkipTheStepAndLeaveTheScaleAlone() {
        MixedPrecision amp = MixedPrecision.enable(network, Gradients.config(Precision.HALF));
        DataSet data = Networks.vectors(8, 20, 3);
        data.getLabels().putScalar(1, 1, Double.POSITIVE_INFINITY);
        network.fit(data);
        assertEquals(1, amp.stepsSkipped());
        assertEquals(65536, amp.lossScale());
    }

    @Test
    void endlessSkippingEndsInAMessageThatNamesWhatWentWrong() {
        MixedPrecision amp = MixedPrecision.enable(
                network,
                AmpConfig.builder()
                        .precision(Precision.HALF)
                        .maxConsecutiveSkips(3)
                        .build());
        DataSet data = Networks.vectors(8, 20, 3);
        data.getFeatures().putScalar(2, 7, Double.NaN);
        INDArray parameters = network.params().dup();
        network.fit(data);
        network.fit(data);
        assertRefused(
                () -> network.fit(data),
                "3 steps in a row",
                "features 0 contain NaN at [2, 7]",
                "iteration 2",
                "Mend the data");
        LossScalingTest.assertBitIdentical(parameters, network.params());
        assertEquals(3, amp.stepsSkipped());
    }

    @Test
    void badDataInEveryBatchDoNotFillTheLog() {
        MixedPrecision.enable(network, Gradients.config(Precision.HALF));
        DataSet data = Networks.vectors(8, 20, 3);
        data.getFeatures().putScalar(2, 7, Double.NaN);
        Logger logger = (Logger) LoggerFactory.getLogger(TrainingStep.class);
        ListAppender<ILoggingEvent> lines = new ListAppender<>();
        lines.start();
        logger.setLevel(Level.WARN);
        logger.addAppender(lines);
        try {
            for (int i = 0; i < 20; i++) {
                network.fit(data);
            }
        } finally {
            logger.detachAppender(lines);
            logger.setLevel(null);
        }
        // One, unless the steps take longer than ten seconds.
        assertTrue(lines.list.size() < 20, lines.list.toString());
        assertTrue(lines.list.get(0).getFormattedMessage().contains("features 0 contain NaN at [2, 7]"));
    }

    @Test
    void aFixedScaleThatIsTooLargeIsSaidToBe() {
        MixedPrecision.enable(
                network,
                AmpConfig.builder()
                        .precision(Precision.HALF)
                        .engine("nd4j")
                        .lossScaler(new StaticLossScaler(1e30))
                        .maxConsecutiveSkips(2)
                        .build());
        DataSet data = Networks.vectors(8, 20, 3);
        network.fit(data);
        assertRefused(
                () -> network.fit(data),
                "The loss scale isn't lowered by new StaticLossScaler(1.0E30)",
                "give a lower one, or a DynamicLossScaler",
                "learning rate");
    }

    @Test
    void anOverflowInTheForwardPassIsSaidToBeOneAndNotBlamedOnTheOutputLayer() {
        MixedPrecision.enable(
                network,
                AmpConfig.builder()
                        .precision(Precision.HALF)
                        .engine("nd4j")
                        .maxConsecutiveSkips(1)
                        .build());
        DataSet data = Networks.vectors(8, 20, 3);
        data.getFeatures().muli(1e30);
        AmpException refusal = assertThrows(AmpException.class, () -> network.fit(data));
        assertTrue(refusal.getMessage().contains("overflowed in the forward pass"), refusal.getMessage());
        assertFalse(refusal.getMessage().contains("first to go non-finite"), refusal.getMessage());
    }

    @Test
    void settingsShowTheCallsThatMakeThem() {
        assertEquals(
                "AmpConfig.builder().precision(HALF).optLevel(O2).engine(\"nd4j\").keepFull(\"bn_.*\").lower(LSTM.class)"
                        + ".maxConsecutiveSkips(50).build()",
                AmpConfig.builder()
                        .precision(Precision.HALF)
                        .optLevel(OptLevel.O2)
                        .engine("nd4j")
                        .keepFull("bn_.*")
                        .lower(LSTM.class)
                        .build()
                        .toString());
    }

    @Test
    void endlessOverflowNamesTheFirstLayerAndParameter() {
        MultiLayerNetwork exploding = Networks.init(Networks.builder(new Adam())
                .list()
                .layer(0, Networks.dense(8, Activation.IDENTITY))
                .layer(1, Networks.dense(8, Activation.IDENTITY))
                .layer(2, Networks.softmax(3))
                .setInputType(InputType.feedForward(20))
                .build());
        exploding.getParam("1_W").muli(1e14);
        exploding.getParam("2_W").muli(1e-14);
        MixedPrecision.enable(
                exploding,
                AmpConfig.builder()
                        .precision(Precision.HALF)
                        .keepFull("layer1")
                        .lossScaler(DynamicLossScaler.builder()
                                .initialScale(1 << 24)
                                .minScale(1 << 24)
                                .build())
                        .maxConsecutiveSkips(2)
                        .build());
        DataSet data = Networks.vectors(8, 20, 3);
        exploding.fit(data);
        assertRefused(() -> exploding.fit(data), "2 steps in a row", "parameter \"W\" of layer \"layer0\"", "keepFull");
    }
}
