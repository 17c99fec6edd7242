package org.dl4jamp.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.List;
import org.dl4jamp.checkpoint.AmpState;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.DynamicLossScaler;
import org.dl4jamp.scale.LossScalerState;
import org.dl4jamp.scale.NoLossScaler;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** The driver's book, by itself: what Spark does to it on good and on bad days. */
class LedgerTest {
    private final Ledger ledger = new Ledger(StageEnd.BEGINNING);

    @Test
    void partThatIsRunAgainReplacesWhatItReportedBefore() {
        ledger.take(task(3, 0, "1", 1024, 4, 1));
        ledger.take(task(3, 1, "2", 512, 3, 2));
        ledger.take(task(3, 1, "4", 256, 2, 3));
        SparkReport report = ledger.report();
        assertEquals(4 + 2, report.stepsTaken());
        assertEquals(1 + 3, report.stepsSkipped());
        assertEquals(
                List.of("1", "4"),
                report.executors().stream().map(ExecutorReport::executor).toList());
    }

    @Test
    void nextStageBeginsAtTheLowestScaleAndWithTheSkipsOfAnAverageWorker() {
        ledger.take(task(3, 0, "1", 1024, 4, 1));
        ledger.take(task(3, 1, "2", 512, 2, 3));
        ledger.take(task(7, 0, "1", 512, 5, 0));
        StageEnd end = StageEnd.before(7, ledger.ends());
        assertEquals(3, end.stage());
        assertEquals(512, end.scalers().get(DynamicLossScaler.KIND).scale());
        assertEquals(3, end.taken());
        assertEquals(2, end.skipped());
    }

    @Test
    void stageThatIsRunAgainBeginsWhereItBegan() {
        ledger.take(task(3, 0, "1", 1024, 5, 0));
        StageEnd begin = StageEnd.before(7, ledger.ends());
        ledger.take(task(7, 0, "1", 2, 0, 5));
        assertEquals(begin, StageEnd.before(7, ledger.ends()));
        assertEquals(StageEnd.BEGINNING, StageEnd.before(3, ledger.ends()));
    }

    @Test
    void aThousandStagesAreCountedToTheLastStepAndTheBookStaysShort() {
        for (int stage = 0; stage < 1000; stage++) {
            ledger.take(task(stage, 0, "1", 64, 4, 1));
            ledger.take(task(stage, 1, "2", 32, 5, 0));
        }
        assertEquals(9000, ledger.report().stepsTaken());
        assertEquals(1000, ledger.report().stepsSkipped());
        assertEquals(1000, ledger.report().executors().get(0).tasks());
        assertTrue(ledger.ends().size() < 20);
        AmpState state = ledger.state().orElseThrow();
        assertEquals(4500, state.stepsTaken());
        assertEquals(500, state.stepsSkipped());
        assertEquals(32, state.scaler().scale());
    }

    @Test
    void aWorkerThatSkipsEveryStepIsCountedByItselfWherePartOrExecutorIsAtFault() {
        for (int stage = 0; stage < 4; stage++) {
            // Part 1 is on another executor each time.
            ledger.take(inARow(stage, 0, "good", 0));
            ledger.take(inARow(stage, 1, "e" + stage, 5 * (stage + 1)));
            // Executor "bad" has another part each time.
            ledger.take(inARow(stage, 10 + stage, "bad", 5 * (stage + 1)));
        }
        SkipsInARow end = StageEnd.before(4, ledger.ends()).consecutiveSkips();
        assertEquals(20, end.of(1, "good"));
        assertEquals(20, end.of(0, "bad"));
        assertEquals(20, end.of(99, "bad"));
        assertEquals(0, end.of(0, "good"));
        assertEquals(0, end.of(99, "new"));
        assertEquals(0, end.ofAll());
        assertEquals(0, ledger.state().orElseThrow().consecutiveSkips());
        ledger.take(inARow(4, 1, "good", 0));
        assertEquals(0, StageEnd.before(5, ledger.ends()).consecutiveSkips().of(1, "good"));
    }

    @Test
    void anExecutorOneOfWhoseTasksTrainsIsNotAtFault() {
        ledger.take(inARow(3, 0, "1", 5));
        ledger.take(inARow(3, 1, "1", 0));
        SkipsInARow end = StageEnd.before(4, ledger.ends()).consecutiveSkips();
        assertEquals(0, end.of(7, "1"));
        assertEquals(5, end.of(0, "1"));
    }

    @Test
    void aTrainingThatGoesOnBeginsWithTheCountOfItsState() {
        AmpState state = task(0, 0, "1", 64, 5, 7).end();
        SkipsInARow begin = StageEnd.of(new AmpState(state.config(), state.scaler(), 5, 7, 3))
                .consecutiveSkips();
        assertEquals(3, begin.of(0, "1"));
        assertEquals(3, begin.ofAll());
    }

    /** A task that has skipped its last steps. */
    private static TaskReport inARow(int stage, int partition, String executor, int consecutive) {
        AmpState end = new AmpState(
                AmpConfig.defaults(),
                new LossScalerState(DynamicLossScaler.KIND, 64, 0, 1),
                5,
                consecutive,
                consecutive);
        return report(stage, partition, "" + partition, false, executor, Precision.HALF, "nd4j", end, 5, consecutive);
    }

    @Test
    void executorsWithoutScalingDoNotLowerTheScaleOfOthers() {
        ledger.take(task(3, 0, "1", 1024, 5, 0));
        ledger.take(unscaled(3, 1, "2"));
        StageEnd end = StageEnd.before(4, ledger.ends());
        assertEquals(1024, end.scalers().get(DynamicLossScaler.KIND).scale());
        assertEquals(1, end.scalers().get(NoLossScaler.KIND).scale());
        assertEquals(1024, ledger.state().orElseThrow().scaler().scale());
    }

    @Test
    void executorsThatDifferAreWarnedOfOnce() {
        String line = warning(
                List.of(task(3, 0, "1", 1024, 5, 0)),
                List.of(unscaled(3, 1, "2"), unscaled(4, 0, "2"), task(4, 1, "1", 1024, 5, 0)));
        assertTrue(
                line.contains(
                        "executor 1 on host-1 trains in HALF on engine \"nd4j\", but executor 2 on host-2 trains in"
                                + " FLOAT on engine \"dl4j\""),
                line);
    }

    @Test
    void shortTasksOfANetworkThatLivesOnAreWarnedOfOnce() {
        String line = warning(
                List.of(task(3, 0, "1", 64, 31, 0), shared(4, 0, "1", 32)),
                List.of(shared(5, 0, "2", 31), shared(5, 1, "2", 30)));
        assertTrue(line.contains("Executor 2 trained only 31 steps in a task"), line);
        assertTrue(line.contains("EqualRepartitioner"), line);
    }

    /** The one warning that the later reports come to. */
    private String warning(List<TaskReport> without, List<TaskReport> with) {
        Logger logger = (Logger) LoggerFactory.getLogger(SparkAmp.class);
        ListAppender<ILoggingEvent> lines = new ListAppender<>();
        lines.start();
        logger.addAppender(lines);
        try {
            without.forEach(ledger::take);
            assertEquals(List.of(), lines.list);
            with.forEach(ledger::take);
        } finally {
            logger.detachAppender(lines);
        }
        assertEquals(1, lines.list.size());
        return lines.list.get(0).getFormattedMessage();
    }

    @Test
    void reportIsATable() {
        ledger.take(task(3, 0, "1", 1024, 5, 0));
        ledger.take(task(3, 1, "12", 512, 4, 1));
        List<String> lines = ledger.report().toString().lines().toList();
        assertEquals(
                List.of(
                        "executor  host     engine  precision  loss scale  steps taken  skipped  tasks",
                        "1         host-1   nd4j    HALF       1024.0      5            0        1",
                        "12        host-12  nd4j    HALF       512.0       4            1        1",
                        "all                                               9            1        2"),
                lines);
    }

    private static TaskReport task(int stage, int partition, String executor, double scale, int taken, int skipped) {
        return task(stage, partition, "" + partition, false, executor, scale, taken, skipped);
    }

    /** A task of the network that lives on in its executor. */
    private static TaskReport shared(int stage, int partition, String executor, int taken) {
        return task(stage, partition, executor, true, executor, 64, taken, 0);
    }

    private static TaskReport task(
            int stage,
            int partition,
            String worker,
            boolean livesOn,
            String executor,
            double scale,
            int taken,
            int skipped) {
        AmpState end = new AmpState(
                AmpConfig.defaults(), new LossScalerState(DynamicLossScaler.KIND, scale, 0, 1), taken, skipped, 0);
        return report(stage, partition, worker, livesOn, executor, Precision.HALF, "nd4j", end, taken, skipped);
    }

    private static TaskReport unscaled(int stage, int partition, String executor) {
        AmpState end = new AmpState(AmpConfig.defaults(), new LossScalerState(NoLossScaler.KIND, 1, 0, 0), 5, 0, 0);
        return report(stage, partition, "" + partition, false, executor, Precision.FLOAT, "dl4j", end, 5, 0);
    }

    private static TaskReport report(
            int stage,
            int partition,
            String worker,
            boolean livesOn,
            String executor,
            Precision precision,
            String engine,
            AmpState end,
            int taken,
            int skipped) {
        return new TaskReport(
                stage,
                partition,
                worker,
                livesOn,
                executor,
                "host-" + executor,
                precision,
                engine,
                end,
                taken,
                skipped);
    }
}
