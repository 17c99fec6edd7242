package org.dl4jamp.benchmarks;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.bytedeco.dnnl.dnnl_version_t;
import org.bytedeco.dnnl.global.dnnl;

/**
 * The machine of a measurement.
 *
 * @param cpu its name
 * @param cores number of the JVM's processors
 * @param memoryBytes physical memory
 * @param instructionSet the one that oneDNN finds and may use, such as avx512_core_bf16
 * @param maxCpuIsa oneDNN's limit in all processes by the environment variable {@code ONEDNN_MAX_CPU_ISA}, null if it
 *     isn't set
 * @param os name and version
 * @param jdk vendor and version
 * @param dl4j version
 * @param pytorch version
 * @param onnxruntime version
 * @param onednn version of the floors and of the engine {@code onednn}
 * @param ompWaitPolicy how OpenMP's threads wait in all processes, null if the environment doesn't set it
 */
record Machine(
        String cpu,
        int cores,
        long memoryBytes,
        String instructionSet,
        String maxCpuIsa,
        String os,
        String jdk,
        String dl4j,
        String pytorch,
        String onnxruntime,
        String onednn,
        String ompWaitPolicy) {
    private static final Path CPU_INFO = Path.of("/proc/cpuinfo");
    /** On x86-64, and on the ARM and Power CPUs that have one. */
    private static final List<String> CPU_NAMES = List.of("model name", "Model", "cpu\t");

    private static final String ISA_PREFIX = "dnnl_cpu_isa_";

    /** Returns the machine that this process runs on. */
    static Machine current() throws IOException {
        OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
        return new Machine(
                cpuName(),
                Runtime.getRuntime().availableProcessors(),
                system.getTotalMemorySize(),
                ofOneDnn(() -> instructionSet(dnnl.dnnl_get_effective_cpu_isa())),
                System.getenv("ONEDNN_MAX_CPU_ISA"),
                system.getName() + " " + system.getVersion(),
                System.getProperty("java.vendor") + " " + System.getProperty("java.version"),
                Versions.of("dl4j"),
                Versions.of("pytorch"),
                Versions.of("onnxruntime"),
                ofOneDnn(Machine::oneDnnVersion),
                System.getenv().getOrDefault("OMP_WAIT_POLICY", "not set"));
    }

    /** Returns oneDNN's answer, or that its library doesn't load: DL4J's and PyTorch's sides run without it. */
    private static String ofOneDnn(Supplier<String> question) {
        try {
            return question.get();
        } catch (LinkageError e) {
            return "unknown: oneDNN's library doesn't load (" + e + ")";
        }
    }

    private static String oneDnnVersion() {
        dnnl_version_t version = dnnl.dnnl_version();
        return version.major() + "." + version.minor() + "." + version.patch();
    }

    private static String cpuName() throws IOException {
        return cpuName(Files.exists(CPU_INFO) ? Files.readAllLines(CPU_INFO) : List.of(), System.getenv());
    }

    /** Returns the CPU's name in Linux, where not all CPUs have one, else that in Windows, or the architecture. */
    static String cpuName(List<String> cpuInfo, Map<String, String> environment) {
        return CPU_NAMES.stream()
                .flatMap(key -> cpuInfo.stream().filter(line -> line.startsWith(key)))
                .map(line -> line.substring(line.indexOf(':') + 1).trim())
                .filter(name -> !name.isEmpty())
                .findFirst()
                .orElseGet(() -> environment.getOrDefault("PROCESSOR_IDENTIFIER", System.getProperty("os.arch")));
    }

    /** Returns the name of one of oneDNN's constants {@code dnnl_cpu_isa_*}. */
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
