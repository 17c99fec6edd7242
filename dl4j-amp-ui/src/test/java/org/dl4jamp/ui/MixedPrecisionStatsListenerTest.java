package org.dl4jamp.ui;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.deeplearning4j.core.storage.Persistable;
import org.deeplearning4j.core.storage.impl.RemoteUIStatsStorageRouter;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.ui.model.stats.StatsListener;
import org.deeplearning4j.ui.model.storage.InMemoryStatsStorage;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.scale.Skip;
import org.dl4jamp.ui.record.PlanContent;
import org.dl4jamp.ui.record.SkipContent;
import org.dl4jamp.ui.record.StepContent;
import org.dl4jamp.ui.record.StoredRecord;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.slf4j.LoggerFactory;

class MixedPrecisionStatsListenerTest {
    private final InMemoryStatsStorage storage = new InMemoryStatsStorage();
    private final MultiLayerNetwork network = Training.network("one", "two");
    private final DataSet batch = Training.batch(1);

    private MixedPrecision train(AmpConfig config, int interval, int iterations) {
        MixedPrecision amp = MixedPrecision.enable(network, config);
        network.setListeners(new MixedPrecisionStatsListener(storage, interval, "session", "worker"));
        for (int i = 0; i < iterations; i++) {
            network.fit(batch);
        }
        return amp;
    }

    private List<StepContent> steps() {
        return Storages.steps(storage, "session", "worker");
    }

    @Test
    void reportsTheFirstIterationAndThoseThatTheIntervalDivides() {
        MixedPrecision amp = train(Training.half(8, 3).build(), 5, 12);
        assertEquals(
                List.of(0, 5, 10), steps().stream().map(StepContent::iteration).toList());
        StepContent last = steps().get(2);
        assertEquals(11, last.stepsTaken());
        assertEquals(0, last.stepsSkipped());
        assertEquals(64, last.lossScale(), "8, doubled after 3, 6 and 9 steps");
        assertEquals(12, amp.stepsTaken());
    }

    @Test
    void theLossIsThatOfTheIteration() {
        List<Double> scores = new ArrayList<>();
        MixedPrecision.enable(network, Training.half(8, 100).build());
        network.setListeners(
                new MixedPrecisionStatsListener(storage, 1, "session", "worker"), new BaseTrainingListener() {
                    @Override
                    public void iterationDone(Model model, int iteration, int epoch) {
                        scores.add(model.score());
                    }
                });
        network.fit(batch);
        network.fit(batch);
        assertEquals(scores, steps().stream().map(StepContent::loss).toList());
    }

    @Test
    void layersHaveOutputsAndGradientsInAnIterationThatWasForeseen() {
        train(Training.half(8, 100).build(), 2, 3);
        List<StepContent.Layer> first = steps().get(0).layers();
        assertTrue(
                first.stream()
                        .allMatch(layer ->
                                layer.output().isEmpty() && layer.gradient().isPresent()),
                "fit(DataSet) calls no listener before a first forward pass: " + first);
        List<StepContent.Layer> third = steps().get(1).layers();
        assertEquals(
                List.of("one", "two"),
                third.stream()
                        .filter(layer -> layer.output().isPresent())
                        .map(StepContent.Layer::name)
                        .toList());
        assertTrue(third.stream().allMatch(layer -> layer.scale().isEmpty()));
    }

    @Test
    void scalesOfLayersAreSaidToBeOn() {
        train(Training.half(8, 100).layerScales(true).build(), 1, 2);
        assertTrue(Storages.plan(storage, "session", "worker").layerScales());
        assertEquals(1, steps().get(1).lossScale());
    }

    @Test
    void thePlanIsThatOfTheNetwork() {
        MixedPrecision amp = train(Training.half(8, 100).build(), 1, 1);
        PlanContent plan = Storages.plan(storage, "session", "worker");
        assertEquals(amp.plan().rows(), plan.plan().rows());
        assertEquals("MultiLayerNetwork, " + network.numParams() + " parameters", plan.network());
        assertEquals("nd4j", plan.engine());
    }

    @Test
    void aSkippedStepIsReportedAtOnceWithTheLayerWhereItBegan() {
        train(Training.half(0x1p30, 1000).build(), 1000, 3);
        List<SkipContent> skips = Storages.skips(storage, "session", "worker");
        assertEquals(3, skips.size());
        assertEquals(0x1p30, skips.get(0).report().lossScale());
        assertEquals(0x1p29, skips.get(1).report().lossScale());
        assertEquals(Skip.Cause.OVERFLOW, skips.get(2).report().skip().cause());
        assertEquals("two", skips.get(2).report().origin().orElseThrow().layer(), "the last layer in HALF");
        assertEquals(1, steps().size());
    }

    /** Training ends at the second skipped step in a row, before any iteration is done. */
    @Test
    void skippedStepsAreThereAfterAnExceptionHasEndedTraining() {
        AmpConfig config = Training.half(0x1p30, 1000).maxConsecutiveSkips(1).build();
        assertThrows(AmpException.class, () -> train(config, 1, 5));
        assertFalse(Storages.skips(storage, "session", "worker").isEmpty());
        assertEquals(List.of("worker"), Storages.workers(storage, "session"));
    }

    @Test
    void aLossThatIsNotANumberIsReportedAsSuch() {
        network.setListeners(new MixedPrecisionStatsListener(storage, 1, "session", "worker"));
        MixedPrecision.enable(network, Training.half(8, 100).build());
        network.fit(new DataSet(Nd4j.valueArrayOf(new long[] {2, 16}, Float.NaN), Nd4j.zeros(2, 4)));
        assertTrue(Double.isNaN(steps().get(0).loss()));
        assertEquals(
                Skip.Cause.BATCH,
                Storages.skips(storage, "session", "worker")
                        .get(0)
                        .report()
                        .skip()
                        .cause());
    }

    /** A storage keeps one update of a worker at each millisecond. */
    @Test
    void noReportOfOneMillisecondReplacesAnother() {
        int iterations = 200;
        train(Training.half(8, 1000).build(), 1, iterations);
        assertEquals(iterations, steps().size());
        long[] times = storage.getAllUpdateTimes("session", StoredRecord.TYPE_ID, "worker");
        assertEquals(iterations, Arrays.stream(times).distinct().count());
        assertEquals(iterations - 1, steps().get(iterations - 1).iteration(), "in the order of their times");
    }

    @Test
    void besideAnotherListenerItReportsToTheSameSession() {
        StatsListener stats = new StatsListener(storage, 1);
        MixedPrecisionStatsListener beside = MixedPrecisionStatsListener.beside(stats, 3);
        assertEquals(stats.getSessionID(), beside.getSessionID());
        assertEquals(stats.getWorkerID(), beside.getWorkerID());
        assertEquals(3, beside.interval());
    }

    @Test
    void anotherNetworkOfOneListenerIsWatchedThroughItsCopy() {
        MixedPrecisionStatsListener listener = new MixedPrecisionStatsListener(null, 1, "session", "original");
        MixedPrecisionStatsListener copy = listener.clone();
        copy.setWorkerID("copy");
        copy.setStorageRouter(storage);
        MixedPrecision.enable(network, Training.half(0x1p30, 1000).build());
        network.setListeners(copy);
        network.fit(batch);
        assertEquals(List.of("copy"), Storages.workers(storage, "session"));
        assertEquals(1, Storages.skips(storage, "session", "copy").size());
    }

    @Test
    void aStorageThatFailsIsReportedOnceAndTrainingGoesOn() {
        InMemoryStatsStorage full = new InMemoryStatsStorage() {
            @Override
            public void putUpdate(Persistable update) {
                throw new IllegalAccessError("Store was closed");
            }
        };
        List<String> lines = logged(() -> {
            MixedPrecision amp =
                    MixedPrecision.enable(network, Training.half(8, 100).build());
            network.setListeners(new MixedPrecisionStatsListener(full, 1, "session", "worker"));
            network.fit(batch);
            network.fit(batch);
            assertEquals(2, amp.stepsTaken());
        });
        assertEquals(
                List.of("MixedPrecisionStatsListener of session session, worker worker failed and reports no more;"
                        + " training goes on"),
                lines);
    }

    @Test
    void aNetworkWithoutMixedPrecisionIsNamedOnce() {
        List<String> lines = logged(() -> {
            network.setListeners(new MixedPrecisionStatsListener(storage, 1, "session", "worker"));
            for (int i = 0; i < 4; i++) {
                network.fit(batch);
            }
        });
        assertEquals(1, lines.size(), lines::toString);
        assertTrue(lines.get(0).contains("isn't in mixed precision"), lines.get(0));
        assertEquals(List.of(), storage.listSessionIDs());
    }

    private static List<String> logged(Runnable work) {
        Logger logger = (Logger) LoggerFactory.getLogger(MixedPrecisionStatsListener.class);
        ListAppender<ILoggingEvent> appender = new ListAppender<>();
        appender.start();
        logger.addAppender(appender);
        try {
            work.run();
        } finally {
            logger.detachAppender(appender);
        }
        return appender.list.stream()
                .filter(event -> event.getLevel() == Level.WARN)
                .map(ILoggingEvent::getFormattedMessage)
                .toList();
    }

    @Test
    void travelsWithARouterThatCanAndRefusesOneThatCant() throws Exception {
        MixedPrecisionStatsListener local = new MixedPrecisionStatsListener(storage, 1);
        AmpException error = assertThrows(AmpException.class, () -> sent(local));
        assertTrue(error.getMessage().contains("setListeners(router, listeners)"), error.getMessage());

        MixedPrecisionStatsListener arrived = sent(new MixedPrecisionStatsListener(null, 7, "session", "worker"));
        assertEquals(7, arrived.interval());
        assertEquals("session", arrived.getSessionID());
        try (RemoteUIStatsStorageRouter router = new RemoteUIStatsStorageRouter("http://localhost:1")) {
            assertEquals(
                    RemoteUIStatsStorageRouter.class,
                    sent(new MixedPrecisionStatsListener(router, 1))
                            .getStorageRouter()
                            .getClass());
        }
        arrived.setStorageRouter(storage);
        MixedPrecision.enable(network, Training.half(8, 100).build());
        network.setListeners(arrived);
        network.fit(batch);
        assertEquals(1, steps().size());
    }

    private static MixedPrecisionStatsListener sent(MixedPrecisionStatsListener listener) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(listener);
        }
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            return (MixedPrecisionStatsListener) in.readObject();
        }
    }

    @Test
    void badArgumentsAreNamed() {
        assertRefused("interval(0)", () -> new MixedPrecisionStatsListener(storage, 0));
        assertRefused("session: \"\"", () -> new MixedPrecisionStatsListener(storage, 1, "", "worker"));
        assertRefused("worker: \"a@@@b\"", () -> new MixedPrecisionStatsListener(storage, 1, "session", "a@@@b"));
        assertRefused("other: null", () -> MixedPrecisionStatsListener.beside(null, 1));
    }

    private static void assertRefused(String begin, Runnable work) {
        AmpException error = assertThrows(AmpException.class, work::run);
        assertTrue(error.getMessage().startsWith(begin), error.getMessage());
        assertFalse(error.getMessage().contains("\n"));
    }
}
