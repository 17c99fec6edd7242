package org.dl4jamp.benchmarks.side;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalDouble;
import java.util.function.LongSupplier;

/**
 * The share of the processors' time that goes to others: to other processes, and to other virtual machines on the same
 * host, which Linux counts as stolen.
 */
final class OtherLoad {
    private static final Path STAT = Path.of("/proc/stat");
    private static final String ALL_PROCESSORS = "cpu ";
    /** Of the file, in each Linux that Java runs on. */
    private static final long NANOS_PER_TICK = 10_000_000;
    /** User, nice, system, idle, iowait, irq, softirq, stolen; what comes behind is in the first two as well. */
    private static final int STATES = 8;

    private static final int IDLE = 3;
    private static final int WAITING = 4;

    /** A source of lines. */
    @FunctionalInterface
    interface Lines {
        List<String> read() throws IOException;
    }

    private final Lines stat;
    private final LongSupplier ownNanos;
    private final long[] ticksBefore;
    private final long nanosBefore;

    /**
     * @param stat the lines of {@code /proc/stat}; none where there is no such file
     * @param ownNanos the processors' time of this process so far, in nanoseconds
     */
    OtherLoad(Lines stat, LongSupplier ownNanos) throws IOException {
        this.stat = stat;
        this.ownNanos = ownNanos;
        ticksBefore = ticks(stat.read());
        nanosBefore = ownNanos.getAsLong();
    }

    /** Begins to count. */
    static OtherLoad begin() throws IOException {
        OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
        return new OtherLoad(
                () -> Files.exists(STAT) ? Files.readAllLines(STAT) : List.of(), system::getProcessCpuTime);
    }

    private static long[] ticks(List<String> lines) {
        return lines.stream()
                .filter(line -> line.startsWith(ALL_PROCESSORS))
                .findFirst()
                .map(line -> Arrays.stream(line.trim().split(" +"))
                        .skip(1)
                        .limit(STATES)
                        .mapToLong(Long::parseLong)
                        .toArray())
                .orElseGet(() -> new long[0]);
    }

    /** Returns the share since the beginning, from 0 to 1; empty on other operating systems, or after no time. */
    OptionalDouble share() throws IOException {
        long[] ticks = ticks(stat.read());
        if (ticks.length < STATES || ticksBefore.length < STATES) {
            return OptionalDouble.empty();
        }
        long all = 0;
        long idle = 0;
        for (int state = 0; state < STATES; state++) {
            long passed = ticks[state] - ticksBefore[state];
            all += passed;
            if (state == IDLE || state == WAITING) {
                idle += passed;
            }
        }
        double own = (double) (ownNanos.getAsLong() - nanosBefore) / NANOS_PER_TICK;
        return all == 0 ? OptionalDouble.empty() : OptionalDouble.of(Math.max(0, (all - idle - own) / all));
    }
}
