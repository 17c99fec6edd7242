package org.dl4jamp.listeners;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.lang.reflect.Proxy;
import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.AutoEncoder;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.deeplearning4j.optimize.listeners.CollectScoresIterationListener;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.Pause;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.StaticLossScaler;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.adapter.SingletonDataSetIterator;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.slf4j.LoggerFactory;

class AmpListenerTest {
    private static final AmpConfig HALF =
            AmpConfig.builder().precision(Precision.HALF).engine("nd4j").build();

    private final DataSet batch = new DataSet(
            Networks.uniform(1, 6, 4),
            Nd4j.createFromArray(new float[][] {{1, 0}, {0, 1}, {1, 0}, {0, 1}, {1, 0}, {0, 1}}));

    @Test
    void fitWithAnIteratorIsInMixedPrecisionFromTheFirstIteration() {
        AmpListener listener = new AmpListener(HALF);
        MultiLayerNetwork network = network(listener);
        network.fit(oneBatch(), 2);
        assertEquals(2, listener.mixedPrecision().orElseThrow().stepsTaken());
    }

    @Test
    void inAPauseItNeitherEndsThePauseNorEnablesAnew() {
        AmpListener listener = new AmpListener(HALF);
        MultiLayerNetwork network = network(listener);
        network.fit(oneBatch(), 1);
        MixedPrecision amp = listener.mixedPrecision().orElseThrow();
        AmpListener second = new AmpListener();
        try (Pause fp32 = amp.pause()) {
            network.addListeners(second);
            network.fit(oneBatch(), 2);
            network.fit(batch);
            assertTrue(amp.isPaused());
            assertSame(MixedPrecision.master(network.getLayer(0)), network.getLayer(0));
        }
        assertSame(amp, listener.mixedPrecision().orElseThrow());
        assertSame(amp, second.mixedPrecision().orElseThrow());
        assertEquals(4, amp.stepsTaken());
    }

    @Test
    void fitWithADataSetIsInMixedPrecisionFromTheSecondIteration() {
        AmpListener listener = new AmpListener(HALF);
        MultiLayerNetwork network = network(listener);
        assertTrue(listener.mixedPrecision().isEmpty());
        network.fit(batch);
        network.fit(batch);
        network.fit(batch);
        assertEquals(2, listener.mixedPrecision().orElseThrow().stepsTaken());
    }

    @Test
    void graphIsAttachedToo() {
        AmpListener listener = new AmpListener(HALF);
        ComputationGraph graph = graph(listener);
        graph.fit(oneBatch(), 3);
        assertEquals(3, listener.mixedPrecision().orElseThrow().stepsTaken());
        assertEquals(Precision.HALF, listener.mixedPrecision().orElseThrow().precision());
    }

    @Test
    void mixedPrecisionThatIsOnAlreadyIsKept() {
        AmpListener listener = new AmpListener();
        MultiLayerNetwork network = network(listener);
        MixedPrecision enabled = MixedPrecision.enable(network, HALF);
        network.fit(oneBatch(), 1);
        assertSame(enabled, listener.mixedPrecision().orElseThrow());
    }

    @Test
    void settingsThatAreIgnoredAreSaidToBe() {
        AmpConfig other = AmpConfig.builder()
                .precision(Precision.HALF)
                .engine("nd4j")
                .keepFull("layer0")
                .build();
        List<String> lines = linesOf(
                () -> network(new AmpListener(HALF), new AmpListener(other)).fit(oneBatch(), 2));
        assertEquals(3, lines.size(), lines.toString());
        assertTrue(
                lines.get(2).startsWith("The settings of this AmpListener, " + other + ", are ignored: ")
                        && lines.get(2).contains("with " + HALF),
                lines.get(2));
        assertEquals(
                2,
                linesOf(() -> network(new AmpListener(HALF), new AmpListener(HALF), new AmpListener())
                                        .fit(oneBatch(), 1))
                                .size()
                        - 1);
    }

    @Test
    void nullIsNamed() {
        assertTrue(assertThrows(AmpException.class, () -> new AmpListener(null))
                .getMessage()
                .startsWith("config: null"));
        AmpListener listener = new AmpListener();
        assertTrue(assertThrows(AmpException.class, () -> listener.onEpochStart(null))
                .getMessage()
                .startsWith("model: null"));
        assertTrue(assertThrows(AmpException.class, () -> listener.iterationDone(null, 0, 0))
                .getMessage()
                .startsWith("model: null"));
    }

    @Test
    void networkThatWasClosedIsLeftAlone() {
        AmpListener listener = new AmpListener(HALF);
        MultiLayerNetwork network = network(listener);
        network.fit(oneBatch(), 1);
        listener.mixedPrecision().orElseThrow().close();
        network.fit(oneBatch(), 2);
        assertTrue(MixedPrecision.of(network).isEmpty());
    }

    @Test
    void withoutSettingsTheDefaultsAreTaken() {
        AmpListener listener = new AmpListener();
        network(listener).fit(oneBatch(), 1);
        assertEquals(
                Precision.AUTO, listener.mixedPrecision().orElseThrow().config().precision());
    }

    @Test
    void otherListenersHearEveryIteration() {
        CollectScoresIterationListener scores = new CollectScoresIterationListener(1);
        MultiLayerNetwork network = network(new AmpListener(HALF), scores);
        network.fit(oneBatch(), 4);
        assertEquals(4, scores.getScoreVsIter().getEffectiveScores().length);
    }

    @Test
    void attachingIsOneLineWithTheSummaryOfThePlan() {
        List<String> lines = linesOf(() -> network(new AmpListener(HALF)).fit(oneBatch(), 2));
        assertEquals(1, lines.size(), lines.toString());
        assertEquals(
                "Mixed precision is on: 1 of 2 layers compute in HALF on engine \"nd4j\", the others in FLOAT; loss"
                        + " scale 65536.0",
                lines.get(0));
    }

    @Test
    void whereNoLayerIsHalfTheLineDoesntSpeakOfMixedPrecision() {
        AmpConfig plain =
                AmpConfig.builder().precision(Precision.FLOAT).engine("nd4j").build();
        assertEquals(
                List.of("The network trains in FP32, as without dl4j-amp; the plan says why"),
                linesOf(() -> network(new AmpListener(plain)).fit(oneBatch(), 2)));
    }

    @Test
    void skippedStepIsSaidInTheLog() {
        // 65504 is the largest number in HALF: any gradient of more than about 1e-33 overflows at this scale.
        AmpConfig overflowing = AmpConfig.builder()
                .precision(Precision.HALF)
                .engine("nd4j")
                .lossScaler(new StaticLossScaler(0x1p120))
                .build();
        List<String> lines = linesOf(() -> network(new AmpListener(overflowing)).fit(oneBatch(), 2));
        assertEquals(2, lines.size(), lines.toString());
        assertTrue(lines.get(1).startsWith("Iteration 0 skipped"), lines.get(1));
    }

    @Test
    void networkThatIsEnabledAgainIsServedAgain() {
        AmpListener listener = new AmpListener(HALF);
        MultiLayerNetwork network = network(listener);
        network.fit(oneBatch(), 1);
        listener.mixedPrecision().orElseThrow().close();
        network.fit(oneBatch(), 1);
        MixedPrecision again = MixedPrecision.enable(network, HALF);
        network.fit(oneBatch(), 1);
        assertSame(again, listener.mixedPrecision().orElseThrow());
    }

    @Test
    void layersMayBePretrainedBeforeTraining() {
        AmpListener listener = new AmpListener(HALF);
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .updater(new Sgd(0.1))
                .list()
                .layer(new AutoEncoder.Builder().nIn(4).nOut(3).build())
                .layer(new OutputLayer.Builder()
                        .activation(Activation.SOFTMAX)
                        .nOut(2)
                        .build())
                .setInputType(InputType.feedForward(4))
                .build());
        network.init();
        network.setListeners(listener);
        network.pretrain(oneBatch());
        assertFalse(listener.mixedPrecision().isPresent());
        network.fit(oneBatch(), 1);
        assertEquals(1, listener.mixedPrecision().orElseThrow().stepsTaken());
    }

    @Test
    void modelThatIsNoNetworkIsRefusedByName() {
        Model other = (Model) Proxy.newProxyInstance(
                Model.class.getClassLoader(), new Class<?>[] {Model.class}, (proxy, method, arguments) -> null);
        AmpListener listener = new AmpListener(HALF);
        AmpException error = assertThrows(AmpException.class, () -> listener.onEpochStart(other));
        assertTrue(error.getMessage().contains(other.getClass().getName()), error.getMessage());
        assertFalse(listener.mixedPrecision().isPresent());
    }

    private static MultiLayerNetwork network(TrainingListener... listeners) {
        MultiLayerNetwork network = SmallNetwork.of(new Sgd(0.1), SmallNetwork.hidden(null, 8));
        network.setListeners(listeners);
        return network;
    }

    private static ComputationGraph graph(TrainingListener... listeners) {
        ComputationGraph graph = new ComputationGraph(new NeuralNetConfiguration.Builder()
                .seed(1)
                .updater(new Sgd(0.1))
                .graphBuilder()
                .addInputs("in")
                .addLayer("dense", new DenseLayer.Builder().nOut(8).build(), "in")
                .addLayer("out", new OutputLayer.Builder().nOut(2).build(), "dense")
                .setOutputs("out")
                .setInputTypes(InputType.feedForward(4))
                .build());
        graph.init();
        graph.setListeners(listeners);
        return graph;
    }

    private DataSetIterator oneBatch() {
        return new SingletonDataSetIterator(batch);
    }

    private static List<String> linesOf(Runnable work) {
        Logger logger = (Logger) LoggerFactory.getLogger(AmpListener.class);
        ListAppender<ILoggingEvent> appender = new ListAppender<>();
        appender.start();
        logger.addAppender(appender);
        try {
            work.run();
        } finally {
            logger.detachAppender(appender);
        }
        return appender.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
    }
}
