package org.dl4jamp.examples.measure;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.nd4j.linalg.api.memory.AllocationsTracker;
import org.nd4j.linalg.api.memory.enums.AllocationKind;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The bytes that ND4J holds, in workspaces and outside, on the device of the thread that asks: host memory with the CPU backend, device
 * memory with the CUDA backend. Counted from a baseline, so that what was there before isn't taken for part of a training.
 *
 * <p>What is counted: arrays outside workspaces by libnd4j's own counter, workspaces by their size. What spills out of a workspace while it
 * learns its size isn't counted; after the first iterations nothing spills.
 */
public final class HeldMemory {
    private static final long SAMPLE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long SETTLE_STEP_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final int SETTLE_STEPS = 150;
    private static final int QUIET_STEPS = 15;

    private final int device;
    private final long baseline;

    private HeldMemory(int device, long baseline) {
        this.device = device;
        this.baseline = baseline;
    }

    /** Destroys the workspaces of the calling thread, has garbage collected, and takes what ND4J still holds as the baseline. */
    public static HeldMemory baseline() {
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        int device = Nd4j.getAffinityManager().getDeviceForCurrentThread();
        settle(device);
        return new HeldMemory(device, held(device));
    }

    /** The bytes that ND4J holds above the baseline. */
    public long bytes() {
        return held(device) - baseline;
    }

    /**
     * The most bytes above the baseline while something runs, sampled each millisecond. Garbage of before is collected first: ND4J frees an
     * array outside workspaces only when Java's garbage collector finds it, so that otherwise the figure would say when that ran last.
     */
    public long peakDuring(Runnable work) {
        settle(device);
        AtomicLong peak = new AtomicLong(held(device));
        Thread sampler = new Thread(
                () -> {
                    while (!Thread.currentThread().isInterrupted()) {
                        peak.accumulateAndGet(held(device), Math::max);
                        LockSupport.parkNanos(SAMPLE_NANOS);
                    }
                },
                "held-memory");
        sampler.setDaemon(true);
        sampler.start();
        try {
            work.run();
        } finally {
            sampler.interrupt();
        }
        return peak.accumulateAndGet(held(device), Math::max) - baseline;
    }

    private static long held(int device) {
        return Nd4j.getEnvironment().getDeviceCouner(device)
                + AllocationsTracker.getInstance().bytesOnDevice(AllocationKind.WORKSPACE, device);
    }

    /** Collects garbage and waits until ND4J, which frees what was collected on threads of its own, has done so. */
    private static void settle(int device) {
        System.gc();
        long least = held(device);
        int quietSteps = 0;
        for (int i = 0; i < SETTLE_STEPS && quietSteps < QUIET_STEPS; i++) {
            LockSupport.parkNanos(SETTLE_STEP_NANOS);
            long now = held(device);
            quietSteps = now < least ? 0 : quietSteps + 1;
            least = Math.min(least, now);
        }
    }
}
