package org.dl4jamp.soak;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ToLongFunction;
import org.bytedeco.javacpp.Pointer;
import org.dl4jamp.onednn.memory.AlignedMemory;
import org.junit.jupiter.api.Assumptions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The memory of this process outside Java's heap, sample by sample, each after the garbage collector has run: physical
 * memory without the heap (Linux), bytes that JavaCPP counts, and bytes of this engine.
 */
final class ProcessMemory {
    /** The growth that counts as none: fragments of the C library's heap, code of HotSpot's compilers. */
    private static final double TOLERANCE = 0.05;

    private static final long SLACK = 24L << 20;

    private static final Logger LOG = LoggerFactory.getLogger(ProcessMemory.class);
    private static final Path STATUS = Path.of("/proc/self/status");

    /**
     * A sample, in bytes.
     *
     * @param resident physical memory of the process, without what Java's heap has committed
     * @param counted memory that JavaCPP has allocated and not yet freed
     * @param held memory of this engine's weights and scratchpads
     */
    record Sample(long resident, long counted, long held) {
        @Override
        public String toString() {
            return String.format(
                    Locale.ROOT,
                    "%.1f MB resident, %.1f MB counted by JavaCPP, %.1f MB held by the engine",
                    resident / 1e6,
                    counted / 1e6,
                    held / 1e6);
        }
    }

    private final List<Sample> samples = new ArrayList<>();

    ProcessMemory() {
        Assumptions.assumeTrue(Files.exists(STATUS), "Linux says how much memory a process has");
    }

    /** Adds a sample. */
    void sample(String when) {
        collect();
        long heap = Runtime.getRuntime().totalMemory();
        Sample sample = new Sample(resident() - heap, Pointer.totalBytes(), AlignedMemory.held());
        samples.add(sample);
        LOG.info("{}: {}", when, sample);
    }

    /** Lets the garbage collector find arrays that nothing refers to, and ND4J's and JavaCPP's threads free them. */
    private static void collect() {
        for (int i = 0; i < 3; i++) {
            System.gc();
            try {
                Thread.sleep(100);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException(e);
            }
        }
    }

    private static long resident() {
        try {
            return Files.readAllLines(STATUS).stream()
                    .filter(line -> line.startsWith("VmRSS:"))
                    .mapToLong(line -> 1024 * Long.parseLong(line.replaceAll("\\D", "")))
                    .findFirst()
                    .orElseThrow();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Asserts that the median of the last quarter isn't larger than that of the quarter behind the first one. */
    void assertFlat() {
        assertFlat("physical memory", Sample::resident);
        assertFlat("memory that JavaCPP counts", Sample::counted);
        assertFlat("memory of the engine", Sample::held);
    }

    private void assertFlat(String what, ToLongFunction<Sample> number) {
        int quarter = samples.size() / 4;
        assertTrue(quarter > 0, () -> samples.size() + " samples are too few");
        long warm = median(samples.subList(quarter, 2 * quarter), number);
        long last = median(samples.subList(samples.size() - quarter, samples.size()), number);
        assertTrue(
                last <= warm * (1 + TOLERANCE) + SLACK,
                () -> what + " grew from " + warm + " to " + last + " bytes: " + samples);
    }

    private static long median(List<Sample> samples, ToLongFunction<Sample> number) {
        return samples.stream()
                .mapToLong(number)
                .sorted()
                .skip(samples.size() / 2)
                .findFirst()
                .orElseThrow();
    }
}
