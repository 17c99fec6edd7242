package org.dl4jamp.inspect.speed;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;

/**
 * The threads of this process besides the one that measures: Java's compiler takes the processors that a step needs.
 */
final class OtherThreads {
    /** Linux counts a process's time in units of 10 ms. */
    private static final int MILLIS = 20;

    private static final OperatingSystemMXBean SYSTEM =
            ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

    private OtherThreads() {}

    /** Sleeps for a moment, and returns whether all other threads did, too. */
    static boolean rest() {
        long before = SYSTEM.getProcessCpuTime();
        try {
            Thread.sleep(MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return true;
        }
        return SYSTEM.getProcessCpuTime() - before < MILLIS * 1_000_000L / 2;
    }
}
