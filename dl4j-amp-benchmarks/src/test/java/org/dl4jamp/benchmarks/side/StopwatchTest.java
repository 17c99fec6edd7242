package org.dl4jamp.benchmarks.side;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.dl4jamp.engine.WorkEvent;
import org.junit.jupiter.api.Test;

class StopwatchTest {
    /** Counts its steps, which are its losses too. */
    private static class Counting implements Training {
        private int steps;

        @Override
        public double step() {
            return ++steps;
        }

        @Override
        public OptionalLong activationBytes() {
            return OptionalLong.of(77);
        }

        @Override
        public void close() {}
    }

    @Test
    void lossesAreThoseOfTheFirstAndTheAgreedStep() throws IOException {
        Repetition repetition =
                new Stopwatch(Records.NOTHING, Turns.ALONE).run(new Counting(), new Schedule(3, 0, 4, 0, 1));
        assertEquals(1, repetition.firstLoss());
        assertEquals(7, repetition.loss());
        assertEquals(4, repetition.steps());
        assertEquals(77, repetition.activationBytes());
        assertNull(repetition.profile());
        assertNull(repetition.unavailable());
    }

    /** A workload with steps of given lengths, by a clock of its own. */
    private static final class Timed extends Counting {
        private final long nanos;
        private long now;

        private Timed(double seconds) {
            nanos = Math.round(seconds * 1e9);
        }

        @Override
        public double step() {
            now += nanos;
            return super.step();
        }

        private Repetition measure(Schedule schedule) throws IOException {
            return new Stopwatch(() -> now).run(this, schedule);
        }
    }

    @Test
    void aFastSideMakesMoreStepsAndReportsTheSameLoss() throws IOException {
        Timed training = new Timed(2e-3);
        Repetition repetition = training.measure(new Schedule(1, 0, 1, 0.099, 1));
        assertEquals(50, repetition.steps());
        assertEquals(1 + 50, ((Counting) training).steps);
        assertEquals(2, repetition.loss());
    }

    @Test
    void warmingUpTakesItsSecondsAndAboutThreeTimesThemAtMost() throws IOException {
        Timed training = new Timed(2e-3);
        Repetition repetition = training.measure(new Schedule(1, 0.1, 5, 0, 1));
        int warmUp = ((Counting) training).steps - repetition.steps();
        assertTrue(warmUp >= 50 && warmUp <= 160, () -> warmUp + " steps of 2 ms in a warm-up of 0.1 s");
    }

    @Test
    void shortStepsShareAReadingAndLongOnesDont() throws IOException {
        Repetition brief = new Timed(1e-4).measure(new Schedule(1, 0, 100, 0, 1));
        assertEquals(100, brief.steps());
        assertEquals(10, brief.seconds().size());
        assertTrue(brief.seconds().stream().allMatch(seconds -> Math.abs(seconds - 1e-4) < 1e-12), brief::toString);
        Repetition lengthy = new Timed(2e-3).measure(new Schedule(1, 0, 3, 0, 1));
        assertEquals(3, lengthy.steps());
        assertEquals(List.of(2e-3, 2e-3, 2e-3), lengthy.seconds());
    }

    @Test
    void theCompilersShareIsOneOfTheTimeSinceTheLastQuestion() {
        AtomicLong nanos = new AtomicLong(7);
        AtomicLong millis = new AtomicLong(11);
        CompilerShare compiler = new CompilerShare(nanos::get, millis::get);
        nanos.addAndGet(200_000_000);
        millis.addAndGet(10);
        assertEquals(0.05, compiler.sinceLast());
        nanos.addAndGet(100_000_000);
        assertEquals(0, compiler.sinceLast());
        assertTrue(CompilerShare.millisOfThisProcess() >= 0);
    }

    @Test
    void aProfileCountsTheOutermostWorkOnly() throws IOException {
        Training nested = new Counting() {
            @Override
            public double step() {
                WorkEvent updater = WorkEvent.begin(WorkEvent.UPDATER, "outer");
                WorkEvent copy = WorkEvent.begin(WorkEvent.COPY, "inner");
                long begin = System.nanoTime();
                while (System.nanoTime() - begin < TimeUnit.MILLISECONDS.toNanos(4)) {
                    Thread.onSpinWait();
                }
                copy.commit();
                updater.commit();
                WorkEvent.begin(WorkEvent.COPY, "later").commit();
                return super.step();
            }
        };
        Profile profile = new Stopwatch(Records.WORK, Turns.ALONE)
                .run(nested, new Schedule(2, 0, 3, 0, 1))
                .profile();
        assertNotNull(profile);
        assertEquals(2, profile.parts().size(), profile.toString());
        assertEquals("outer", profile.parts().get(0).what());
        assertEquals("later", profile.parts().get(1).what());
        assertEquals(1, profile.parts().get(0).timesPerStep());
        // At least half of the four milliseconds: flight recordings have a clock of their own.
        assertTrue(profile.secondsOf(WorkEvent.UPDATER) >= 2e-3, profile.toString());
        assertTrue(profile.secondsPerStep() >= profile.secondsOf(WorkEvent.UPDATER), profile.toString());
    }

    @Test
    void recordedStepsAndMeasuredOnesTakeTurns() throws IOException {
        List<Boolean> steps = new ArrayList<>();
        Training turns = new Training() {
            private boolean isRecorded;

            @Override
            public double step() {
                steps.add(isRecorded);
                return 0;
            }

            @Override
            public void recordKernels(boolean begins) {
                isRecorded = begins;
            }

            @Override
            public Optional<Profile> kernels(int recorded) {
                assertEquals(3, recorded);
                return Optional.of(new Profile(1, List.of()));
            }

            @Override
            public void close() {}
        };
        Repetition repetition = new Stopwatch(Records.KERNELS, Turns.ALONE).run(turns, new Schedule(2, 0, 3, 0, 1));
        assertEquals(3, repetition.steps());
        assertEquals(1, repetition.profile().secondsPerStep());
        assertEquals(List.of(false, true, false, true, false, true), steps.subList(steps.size() - 6, steps.size()));
        assertFalse(steps.subList(0, steps.size() - 6).contains(true), "in the warm-up");
        Workload other = () -> {};
        assertThrows(UnsupportedOperationException.class, () -> other.recordKernels(true));
    }
}
