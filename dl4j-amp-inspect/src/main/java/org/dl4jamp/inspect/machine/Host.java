package org.dl4jamp.inspect.machine;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * A machine as its operating system describes it.
 *
 * @param system name and version of the operating system
 * @param architecture such as {@code amd64}
 * @param cpu the processor's name
 * @param processors the machine's processors as the operating system counts them, two for a core with two threads; null
 *     if unknown
 * @param cores the machine's cores; null if unknown
 * @param memoryBytes its memory, or that of the container
 * @param availableMemoryBytes memory that can be had without swapping; null if unknown
 * @param instructionSets instruction sets of the processor that matter for training, by their names in Linux; null if
 *     unknown
 * @param bfloat16 whether the processor has instructions for products of BFLOAT16; null if unknown
 */
public record Host(
        String system,
        String architecture,
        String cpu,
        Integer processors,
        Integer cores,
        long memoryBytes,
        Long availableMemoryBytes,
        List<String> instructionSets,
        Boolean bfloat16) {
    private static final Path CPU_INFO = Path.of("/proc/cpuinfo");
    private static final Path MEMORY_INFO = Path.of("/proc/meminfo");
    private static final String AVAILABLE = "MemAvailable:";

    public Host {
        instructionSets = instructionSets == null ? null : List.copyOf(instructionSets);
    }

    /** Asks the operating system. The processor's instruction sets are known on Linux only. */
    public static Host ofThisMachine() {
        OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
        List<String> memory = lines(MEMORY_INFO);
        return of(
                system.getName() + " " + system.getVersion(),
                lines(CPU_INFO),
                system.getTotalMemorySize(),
                availableBytes(memory, system.getTotalMemorySize()));
    }

    static Host of(String system, List<String> cpuInfo, long memoryBytes, Long availableMemoryBytes) {
        CpuInfo cpu = CpuInfo.parse(cpuInfo);
        String fallback = System.getenv().getOrDefault("PROCESSOR_IDENTIFIER", System.getProperty("os.arch"));
        return new Host(
                system,
                System.getProperty("os.arch"),
                cpu.name().orElse(fallback),
                cpu.processors() == 0 ? null : cpu.processors(),
                cpu.cores() == 0 ? null : cpu.cores(),
                memoryBytes,
                availableMemoryBytes,
                cpu.flags().isEmpty() ? null : cpu.instructionSets(),
                cpu.flags().isEmpty() ? null : cpu.multipliesBfloat16());
    }

    private static List<String> lines(Path file) {
        if (!Files.isReadable(file)) {
            return List.of();
        }
        try {
            return Files.readAllLines(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A container may have less memory than the machine has available. */
    static Long availableBytes(List<String> memoryInfo, long memoryBytes) {
        return memoryInfo.stream()
                .filter(line -> line.startsWith(AVAILABLE))
                .map(line -> line.replaceAll("\\D", ""))
                .filter(kibibytes -> !kibibytes.isEmpty())
                .map(kibibytes -> Math.min(Long.parseLong(kibibytes) << 10, memoryBytes))
                .findFirst()
                .orElse(null);
    }
}
