package org.dl4jamp.benchmarks.side;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
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
        Repetition repetition = Stopwatch.run(new Counting(), new Schedule(3, 0, 4, 0));
        assertEquals(1, repetition.firstLoss());
        assertEquals(7, repetition.loss());
        assertEquals(4, repetition.steps());
        assertEquals(77, repetition.activationBytes());
        assertNull(repetition.profile());
        assertNull(repetition.unavailable());
    }

    @Test
    void aFastSideMakesMoreStepsAndReportsTheSameLoss() throws IOException {
        Counting training = new Counting();
        Repetition repetition = Stopwatch.run(training, new Schedule(1, 0.01, 1, 0.01));
        assertTrue(training.steps > 10, () -> training.steps + " steps");
        assertEquals(2, repetition.loss());
    }

    @Test
    void shortStepsShareAReadingAndLongOnesDont() throws IOException {
        Repetition counting = Stopwatch.run(new Counting(), new Schedule(1, 0, 10_000, 0.05));
        assertTrue(counting.steps() >= 10_000, counting::toString);
        assertTrue(
                counting.seconds().size() * 2 < counting.steps(),
                () -> counting.seconds().size() + " readings");
        Training slow = new Counting() {
            @Override
            public double step() {
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(2));
                return super.step();
            }
        };
        Repetition sleeping = Stopwatch.run(slow, new Schedule(1, 0, 3, 0));
        assertEquals(3, sleeping.steps());
        assertEquals(3, sleeping.seconds().size());
        assertTrue(sleeping.seconds().stream().allMatch(seconds -> seconds >= 2e-3), sleeping::toString);
    }

    @Test
    void theCompilersShareIsOneOfTheTimeSinceTheLastQuestion() {
        CompilerShare compiler = new CompilerShare();
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
        double share = compiler.sinceLast();
        // Each of HotSpot's compiler threads counts, and a compilation counts as a whole when it ends.
        assertTrue(share >= 0 && Double.isFinite(share), () -> "share " + share);
    }

    @Test
    void aProfileCountsTheOutermostWorkOnly() throws IOException {
        Training nested = new Counting() {
            @Override
            public double step() {
                WorkEvent updater = WorkEvent.begin(WorkEvent.UPDATER, "outer");
                WorkEvent copy = WorkEvent.begin(WorkEvent.COPY, "inner");
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(2));
                copy.commit();
                updater.commit();
                WorkEvent.begin(WorkEvent.COPY, "later").commit();
                return super.step();
            }
        };
        Profile profile = Stopwatch.profile(nested, new Schedule(2, 0, 3, 0)).profile();
        assertNotNull(profile);
        assertEquals(2, profile.parts().size(), profile.toString());
        assertEquals("outer", profile.parts().get(0).what());
        assertEquals("later", profile.parts().get(1).what());
        assertEquals(1, profile.parts().get(0).timesPerStep());
        assertTrue(profile.secondsOf(WorkEvent.UPDATER) >= 2e-3, profile.toString());
        assertTrue(profile.secondsPerStep() >= profile.secondsOf(WorkEvent.UPDATER), profile.toString());
    }
}
