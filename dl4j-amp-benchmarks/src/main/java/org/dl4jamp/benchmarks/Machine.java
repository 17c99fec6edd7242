package org.dl4jamp.benchmarks;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.bytedeco.dnnl.dnnl_version_t;
import org.bytedeco.dnnl.global.dnnl;

/**
 * Where something was measured.
 *
 * @param cpu its name
 * @param cores that the JVM sees
 * @param memoryBytes physical memory
 * @param instructionSet what oneDNN finds, such as avx512_core_bf16
 * @param os name and version
 * @param jdk vendor and version
 * @param dl4j version
 * @param pytorch version
 * @param onednn version of the floors and of the engine {@code onednn}
 * @param ompWaitPolicy how OpenMP's threads wait in all processes, if the environment says
 */
record Machine(
        String cpu,
        int cores,
        long memoryBytes,
        String instructionSet,
        String os,
        String jdk,
        String dl4j,
        String pytorch,
        String onednn,
        String ompWaitPolicy) {
    private static final Path CPU_INFO = Path.of("/proc/cpuinfo");
    private static final String ISA_PREFIX = "dnnl_cpu_isa_";

    /** The one that this process runs on. */
    static Machine current() throws IOException {
        OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
        dnnl_version_t onednn = dnnl.dnnl_version();
        return new Machine(
                cpuName(),
                Runtime.getRuntime().availableProcessors(),
                system.getTotalMemorySize(),
                instructionSet(dnnl.dnnl_get_effective_cpu_isa()),
                system.getName() + " " + system.getVersion(),
                System.getProperty("java.vendor") + " " + System.getProperty("java.version"),
                Versions.of("dl4j"),
                Versions.of("pytorch"),
                onednn.major() + "." + onednn.minor() + "." + onednn.patch(),
                System.getenv().getOrDefault("OMP_WAIT_POLICY", "not set"));
    }

    private static String cpuName() throws IOException {
        if (Files.exists(CPU_INFO)) {
            for (String line : Files.readAllLines(CPU_INFO)) {
                if (line.startsWith("model name")) {
                    return line.substring(line.indexOf(':') + 1).trim();
                }
            }
        }
        return System.getProperty("os.arch");
    }

    /** The name of one of oneDNN's constants {@code dnnl_cpu_isa_*}. */
    static String instructionSet(int isa) {
        return Arrays.stream(dnnl.class.getFields())
                .filter(field -> field.getName().startsWith(ISA_PREFIX) && field.getType() == int.class)
                .filter(field -> value(field) == isa)
                .map(field -> field.getName().substring(ISA_PREFIX.length()))
                .findFirst()
                .orElse("isa " + isa);
    }

    private static int value(Field field) {
        try {
            return field.getInt(null);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }
}
