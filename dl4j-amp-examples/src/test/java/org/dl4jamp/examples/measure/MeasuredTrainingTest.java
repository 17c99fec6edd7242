package org.dl4jamp.examples.measure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.memory.enums.AllocationPolicy;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

class MeasuredTrainingTest {
    private static final int MEGABYTE = 1 << 20;

    @Test
    void medianIsTheMiddleValueOrTheMeanOfTheTwoInTheMiddle() {
        assertEquals(3, MeasuredTraining.median(new double[] {9, 1, 3}));
        assertEquals(2.5, MeasuredTraining.median(new double[] {9, 1, 3, 2}));
    }

    @Test
    void oneIterationIsEnough() {
        MeasuredTraining training = MeasuredTraining.run(1, () -> 7, HeldMemory.baseline(), () -> {});
        assertEquals(List.of(7.0), training.losses());
        assertTrue(training.seconds() > 0);
        assertEquals(training.seconds(), training.secondsPerIteration());
    }

    @Test
    void slowWarmUpDoesNotCountForTheTimeOfAnIteration() {
        AtomicLong clock = new AtomicLong();
        List<Integer> done = new ArrayList<>();
        MeasuredTraining training = MeasuredTraining.run(
                20,
                () -> {
                    clock.addAndGet(TimeUnit.MILLISECONDS.toNanos(done.size() < 5 ? 50 : 1));
                    return done.size();
                },
                HeldMemory.baseline(),
                () -> done.add(1),
                clock::get);
        assertEquals(20, done.size());
        assertEquals(19, training.loss());
        assertEquals(0.265, training.seconds(), 1e-9);
        assertEquals(0.001, training.secondsPerIteration(), 1e-9);
    }

    @Test
    void peakMemoryCountsArraysAndWorkspacesButNotWhatWasThereBefore() {
        INDArray before = Nd4j.create(DataType.FLOAT, MEGABYTE);
        int device = Nd4j.getAffinityManager().getDeviceForCurrentThread();
        Semaphore samples = new Semaphore(0);
        HeldMemory memory = HeldMemory.baseline(() -> {
            long held = HeldMemory.held(device);
            samples.release();
            return held;
        });
        assertNear(0, memory.bytes());
        long peak = memory.peakDuring(() -> {
            INDArray array = Nd4j.create(DataType.HALF, MEGABYTE);
            WorkspaceConfiguration eightMegabytes = WorkspaceConfiguration.builder()
                    .initialSize(8 * MEGABYTE)
                    .policyAllocation(AllocationPolicy.STRICT)
                    .build();
            try (MemoryWorkspace workspace =
                    Nd4j.getWorkspaceManager().getAndActivateWorkspace(eightMegabytes, "test")) {
                assertEquals("test", workspace.getId());
                samples.drainPermits();
                // The first may have been counted before the workspace was there.
                samples.acquireUninterruptibly(2);
            }
            array.close();
        });
        assertNear(2 * MEGABYTE + 8 * MEGABYTE, peak);
        assertEquals(MEGABYTE, before.length());
    }

    private static void assertNear(long expected, long actual) {
        assertTrue(Math.abs(actual - expected) < 0.1 * MEGABYTE, "expected " + expected + ", was " + actual);
    }
}
