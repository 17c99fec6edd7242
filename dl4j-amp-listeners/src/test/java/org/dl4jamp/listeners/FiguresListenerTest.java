package org.dl4jamp.listeners;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import java.util.concurrent.TimeUnit;
import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.AutoEncoder;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.StaticLossScaler;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.slf4j.LoggerFactory;

class FiguresListenerTest {
    private static final Logger LOG = (Logger) LoggerFactory.getLogger(FiguresListener.class);
    private final ListAppender<ILoggingEvent> lines = new ListAppender<>();
    private final MultiLayerNetwork network = SmallNetwork.of(new Sgd(0.1), SmallNetwork.hidden("hidden", 3));
    private long now;

    /** Keeps its figures; each of its reports, and each iteration, takes a time of its own. */
    private class Collecting extends FiguresListener {
        final List<StepFigures> all = new ArrayList<>();
        boolean read = true;

        Collecting(int interval) {
            super(interval, () -> now);
        }

        @Override
        protected boolean isRead() {
            return read;
        }

        @Override
        protected void report(StepFigures figures) throws Exception {
            all.add(figures);
        }
    }

    @BeforeEach
    void listenToTheLog() {
        lines.start();
        LOG.addAppender(lines);
    }

    @AfterEach
    void leaveTheLog() {
        LOG.detachAppender(lines);
    }

    private static DataSet batch(int examples) {
        return new DataSet(
                Networks.uniform(1, examples, 4),
                Nd4j.eye(2).castTo(DataType.FLOAT).repeat(0, examples / 2));
    }

    private void iterations(FiguresListener listener, int count, double seconds) {
        for (int i = 0; i < count; i++) {
            now += (long) (seconds * TimeUnit.SECONDS.toNanos(1));
            listener.iterationDone(network, i, 0);
        }
    }

    @Test
    void reportsEveryThirdIterationWithDl4jsNumbersAndTheLossOfTheNetwork() {
        Collecting listener = new Collecting(3);
        List<Double> losses = new ArrayList<>();
        network.setListeners(listener, new org.deeplearning4j.optimize.api.BaseTrainingListener() {
            @Override
            public void iterationDone(org.deeplearning4j.nn.api.Model model, int iteration, int epoch) {
                losses.add(model.score());
            }
        });
        network.fit(new ExistingDataSetIterator(List.of(batch(4), batch(4), batch(4), batch(4))), 2);
        assertEquals(
                List.of(2, 5), listener.all.stream().map(StepFigures::iteration).toList());
        assertEquals(
                List.of(0, 1), listener.all.stream().map(StepFigures::epoch).toList());
        assertEquals(
                List.of(losses.get(2), losses.get(5)),
                listener.all.stream().map(StepFigures::loss).toList());
        assertTrue(listener.all.get(0).memoryBytes() > 1 << 20);
    }

    @Test
    void withoutMixedPrecisionThereIsNoLossScaleAndNoStepIsCounted() {
        Collecting listener = new Collecting(1);
        network.setListeners(listener);
        network.fit(batch(4));
        assertEquals(OptionalDouble.empty(), listener.all.get(0).lossScale());
        assertEquals(0, listener.all.get(0).stepsTaken());
    }

    @Test
    void inMixedPrecisionScaleAndCountsAreThoseOfItsHandle() {
        Collecting listener = new Collecting(1);
        network.setListeners(listener);
        AmpConfig config = AmpConfig.builder()
                .engine("nd4j")
                .precision(Precision.HALF)
                .lossScaler(new StaticLossScaler(1024))
                .build();
        DataSet bad = batch(4);
        bad.getFeatures().putScalar(0, Double.NaN);
        try (MixedPrecision amp = MixedPrecision.enable(network, config)) {
            network.fit(batch(4));
            network.fit(bad);
            network.fit(batch(4));
        }
        assertEquals(
                List.of(1L, 1L, 2L),
                listener.all.stream().map(StepFigures::stepsTaken).toList());
        assertEquals(
                List.of(0L, 1L, 1L),
                listener.all.stream().map(StepFigures::stepsSkipped).toList());
        assertEquals(OptionalDouble.of(1024), listener.all.get(2).lossScale());
    }

    @Test
    void timesAreMeansOverTheIterationsSinceTheLastReport() {
        Collecting listener = new Collecting(4);
        network.setInput(Nd4j.zeros(DataType.FLOAT, 5, 4));
        listener.onEpochStart(network);
        iterations(listener, 4, 0.5);
        iterations(listener, 4, 0.25);
        assertEquals(OptionalDouble.of(0.5), listener.all.get(0).secondsPerIteration());
        assertEquals(OptionalDouble.of(10), listener.all.get(0).examplesPerSecond());
        assertEquals(OptionalDouble.of(0.25), listener.all.get(1).secondsPerIteration());
        assertEquals(OptionalDouble.of(20), listener.all.get(1).examplesPerSecond());
    }

    @Test
    void theTimeBetweenTwoEpochsIsNoTimeOfAnIteration() {
        Collecting listener = new Collecting(2);
        listener.onEpochStart(network);
        iterations(listener, 1, 0.5);
        listener.onEpochEnd(network);
        now += TimeUnit.HOURS.toNanos(1);
        listener.onEpochStart(network);
        iterations(listener, 1, 0.5);
        assertEquals(OptionalDouble.of(0.5), listener.all.get(0).secondsPerIteration());
    }

    @Test
    void theTimeOfAReportIsNoTimeOfAnIteration() {
        Collecting listener = new Collecting(2) {
            @Override
            protected void report(StepFigures figures) throws Exception {
                super.report(figures);
                now += TimeUnit.HOURS.toNanos(1);
            }
        };
        listener.onEpochStart(network);
        iterations(listener, 4, 0.5);
        assertEquals(OptionalDouble.of(0.5), listener.all.get(1).secondsPerIteration());
    }

    @Test
    void withoutAnEpochTheFirstIterationIsNotTimed() {
        Collecting listener = new Collecting(1);
        iterations(listener, 2, 0.5);
        assertEquals(OptionalDouble.empty(), listener.all.get(0).secondsPerIteration());
        assertEquals(OptionalDouble.empty(), listener.all.get(0).examplesPerSecond());
        assertEquals(OptionalDouble.of(0.5), listener.all.get(1).secondsPerIteration());
    }

    @Test
    void anotherNetworkBeginsAnew() {
        Collecting listener = new Collecting(2);
        iterations(listener, 1, 0.5);
        listener.iterationDone(SmallNetwork.of(new Sgd(0.1)), 0, 0);
        assertEquals(List.of(), listener.all);
        iterations(listener, 2, 0.5);
        assertEquals(1, listener.all.size());
    }

    @Test
    void servesAGraph() {
        Collecting listener = new Collecting(1);
        ComputationGraph graph = network.toComputationGraph();
        graph.setListeners(listener);
        graph.fit(batch(6));
        graph.fit(batch(6));
        assertEquals(2, listener.all.size());
        assertEquals(graph.score(), listener.all.get(1).loss());
    }

    @Test
    void aReportThatFailsIsLoggedOnceAndTrainingGoesOn() {
        List<Integer> tried = new ArrayList<>();
        FiguresListener failing = new FiguresListener(1) {
            @Override
            protected void report(StepFigures figures) throws IOException {
                tried.add(figures.iteration());
                throw new IOException("no space left");
            }

            @Override
            public String toString() {
                return "Failing";
            }
        };
        network.setListeners(failing);
        for (int i = 0; i < 3; i++) {
            network.fit(batch(4));
        }
        assertEquals(3, network.getIterationCount());
        assertEquals(1, tried.size());
        assertEquals(1, lines.list.size());
        assertEquals(Level.WARN, lines.list.get(0).getLevel());
        assertTrue(lines.list.get(0).getFormattedMessage().startsWith("Failing failed in iteration"));
        assertTrue(lines.list.get(0).getFormattedMessage().endsWith("goes on: java.io.IOException: no space left"));
        assertEquals("no space left", failing.failure().orElseThrow().getMessage());
    }

    @Test
    void ofAFailureThatIsNotOfAFileTheStackTraceIsLogged() {
        FiguresListener failing = new FiguresListener(1) {
            @Override
            protected void report(StepFigures figures) {
                throw new IllegalStateException("a bug");
            }
        };
        network.setListeners(failing);
        network.fit(batch(4));
        assertEquals("a bug", lines.list.get(0).getThrowableProxy().getMessage());
    }

    @Test
    void aReportOfAnEpochThatFailsEndsTheReports() {
        List<Integer> epochs = new ArrayList<>();
        Collecting failing = new Collecting(1) {
            @Override
            protected void reportEpoch(Model model) throws IOException {
                epochs.add(network.getEpochCount());
                if (epochs.size() == 2) {
                    throw new IOException("no space left");
                }
            }
        };
        network.setListeners(failing);
        network.fit(new ExistingDataSetIterator(List.of(batch(4))), 4);
        assertEquals(4, network.getIterationCount());
        assertEquals(2, epochs.size());
        assertEquals(2, failing.all.size());
        assertEquals(1, lines.list.size());
        assertTrue(lines.list.get(0).getFormattedMessage().contains("failed in iteration 2"));
    }

    @Test
    void nothingIsMadeWhileNobodyReads() {
        Collecting listener = new Collecting(1);
        listener.read = false;
        network.setListeners(listener);
        network.fit(batch(4));
        assertEquals(List.of(), listener.all);
        listener.read = true;
        network.fit(batch(4));
        assertEquals(1, listener.all.size());
    }

    @Test
    void layersThatArePretrainedAreNoNetwork() {
        MultiLayerNetwork pretrained = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .list()
                .layer(new AutoEncoder.Builder().nIn(4).nOut(3).build())
                .layer(new OutputLayer.Builder().nIn(3).nOut(2).build())
                .build());
        pretrained.init();
        Collecting listener = new Collecting(1);
        pretrained.setListeners(listener);
        pretrained.pretrain(new ExistingDataSetIterator(List.of(batch(4))));
        assertEquals(List.of(), listener.all);
    }

    @Test
    void anIntervalBelowOneIsRefused() {
        AmpException e = assertThrows(AmpException.class, () -> new LossScaleListener(0));
        assertTrue(e.getMessage().startsWith("interval(0): "), e.getMessage());
    }
}
