package org.dl4jamp.examples.measure;

import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import org.nd4j.linalg.api.environment.Nd4jEnvironment;
import org.nd4j.linalg.api.memory.AllocationsTracker;
import org.nd4j.linalg.api.memory.enums.AllocationKind;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The bytes that ND4J holds, in workspaces and outside, on the device of the calling thread. That is host memory with
 * the CPU backend. With CUDA it's all memory of the GPU that is in use, by other programs, too: ND4J counts hardly
 * anything there. A baseline is subtracted: memory from before isn't part of a training.
 *
 * <p>With the CPU backend, arrays outside workspaces are counted by libnd4j's own counter, workspaces by their size.
 * Arrays that spill out of a workspace before it has its final size aren't counted. After the first iterations nothing
 * spills.
 */
public final class HeldMemory {
    private static final long SAMPLE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long SETTLE_STEP_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final int SETTLE_STEPS = 150;
    private static final int QUIET_STEPS = 15;

    private final LongSupplier held;
    private final long baseline;

    private HeldMemory(LongSupplier held, long baseline) {
        this.held = held;
        this.baseline = baseline;
    }

    /**
     * Destroys the workspaces of the calling thread, has garbage collected, and takes what ND4J still holds as the
     * baseline.
     */
    public static HeldMemory baseline() {
        int device = Nd4j.getAffinityManager().getDeviceForCurrentThread();
        return baseline(() -> held(device));
    }

    /**
     * Makes the same with another count.
     *
     * @param held the bytes that are held; called by any thread
     */
    static HeldMemory baseline(LongSupplier held) {
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        settle(held);
        return new HeldMemory(held, held.getAsLong());
    }

    /** Returns the bytes that ND4J holds above the baseline. */
    public long bytes() {
        return held.getAsLong() - baseline;
    }

    /**
     * Returns the most bytes above the baseline while something runs, sampled each millisecond. Garbage from before is
     * collected first: ND4J frees an array outside workspaces only when Java's garbage collector finds it.
     */
    public long peakDuring(Runnable work) {
        settle(held);
        AtomicLong peak = new AtomicLong(held.getAsLong());
        Thread sampler = new Thread(
                () -> {
                    while (!Thread.currentThread().isInterrupted()) {
                        peak.accumulateAndGet(held.getAsLong(), Math::max);
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
        return peak.accumulateAndGet(held.getAsLong(), Math::max) - baseline;
    }

    /** Returns the bytes that ND4J holds on a device. */
    static long held(int device) {
        return Nd4j.getEnvironment().isCPU()
                ? Nd4j.getEnvironment().getDeviceCouner(device)
                        + AllocationsTracker.getInstance().bytesOnDevice(AllocationKind.WORKSPACE, device)
                : givenOut(Nd4j.getExecutioner().getEnvironmentInformation(), device);
    }

    /** Returns the used memory of a GPU, by what ND4J's CUDA backend tells of its environment. */
    static long givenOut(Properties environment, int device) {
        var devices = (List<?>) environment.get(Nd4jEnvironment.CUDA_DEVICE_INFORMATION_KEY);
        var one = (Map<?, ?>) devices.get(device);
        return ((Number) one.get(Nd4jEnvironment.CUDA_TOTAL_MEMORY_KEY)).longValue()
                - ((Number) one.get(Nd4jEnvironment.CUDA_FREE_MEMORY_KEY)).longValue();
    }

    /** Collects garbage and waits until ND4J has freed the collected arrays, in threads of its own. */
    private static void settle(LongSupplier held) {
        System.gc();
        long least = held.getAsLong();
        int quietSteps = 0;
        for (int i = 0; i < SETTLE_STEPS && quietSteps < QUIET_STEPS; i++) {
            LockSupport.parkNanos(SETTLE_STEP_NANOS);
            long now = held.getAsLong();
            quietSteps = now < least ? 0 : quietSteps + 1;
            least = Math.min(least, now);
        }
    }
}
