package org.dl4jamp.examples.measure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
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
        List<Integer> done = new ArrayList<>();
        MeasuredTraining training = MeasuredTraining.run(
                20,
                () -> {
                    pause(done.size() < 5 ? 50 : 1);
                    return done.size();
                },
                HeldMemory.baseline(),
                () -> done.add(1));
        assertEquals(20, done.size());
        assertEquals(19, training.loss());
        assertTrue(training.seconds() > 0.25, "seconds " + training.seconds());
        assertTrue(training.secondsPerIteration() < 0.03, "per iteration " + training.secondsPerIteration());
    }

    @Test
    void peakMemoryCountsArraysAndWorkspacesButNotWhatWasThereBefore() {
        INDArray before = Nd4j.create(DataType.FLOAT, MEGABYTE);
        HeldMemory memory = HeldMemory.baseline();
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
                pause(50);
            }
            array.close();
        });
        assertNear(2 * MEGABYTE + 8 * MEGABYTE, peak);
        assertEquals(MEGABYTE, before.length());
    }

    private static void assertNear(long expected, long actual) {
        assertTrue(Math.abs(actual - expected) < 0.1 * MEGABYTE, "expected " + expected + ", was " + actual);
    }

    private static void pause(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
