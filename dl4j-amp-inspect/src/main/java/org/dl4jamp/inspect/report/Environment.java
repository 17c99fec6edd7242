package org.dl4jamp.inspect.report;

import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.javacpp.Pointer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.inspect.machine.Host;
import org.dl4jamp.inspect.machine.Versions;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The environment of a training, as names and values. Of environment variables and options of the JVM it holds those
 * that change times or numbers: others may hold secrets.
 */
record Environment(List<Fact> facts) {
    /** A name and its value. */
    record Fact(String name, String value) {}

    /** Beginnings of names of environment variables that change threads, instruction sets, memory or devices. */
    private static final List<String> VARIABLES = List.of(
            "OMP_",
            "GOMP_",
            "KMP_",
            "MKL_",
            "OPENBLAS_",
            "ONEDNN_",
            "DNNL_",
            "ND4J_",
            "SD_",
            "BACKEND_PRIORITY_",
            "CUDA_VISIBLE_DEVICES",
            "NVIDIA_VISIBLE_DEVICES",
            "MALLOC_");

    /** Beginnings of options of the JVM that do. */
    private static final List<String> OPTIONS =
            List.of("-Xm", "-Xss", "-XX:+", "-XX:-", "-XX:Max", "-XX:Tiered", "-Dorg.bytedeco.javacpp.max");

    static Environment read() {
        return read(System.getenv());
    }

    static Environment read(Map<String, String> variables) {
        List<Fact> facts = new ArrayList<>();
        facts.add(new Fact("dl4j-amp", Versions.dl4jAmp()));
        facts.add(new Fact("DL4J", version(MultiLayerNetwork.class, "org.deeplearning4j/deeplearning4j-nn")));
        facts.add(new Fact("ND4J", version(Nd4j.class, "org.nd4j/nd4j-api")));
        facts.add(new Fact("ND4J’s backend", Nd4j.getBackend().getClass().getSimpleName()));
        facts.add(new Fact("BLAS", ofBackend("blas.vendor")));
        facts.add(new Fact("Threads of OpenMP", ofBackend("omp.threads")));
        facts.add(new Fact("JavaCPP", loaderVersion()));
        facts.add(new Fact(
                "Operating system", property("os.name") + " " + property("os.version") + ", " + property("os.arch")));
        facts.add(new Fact("Processor", Host.ofThisMachine().cpu()));
        facts.add(new Fact(
                "Processors for the JVM", Numbers.whole(Runtime.getRuntime().availableProcessors())));
        facts.add(new Fact("Memory of the machine", Numbers.bytes(Pointer.totalPhysicalBytes())));
        facts.add(new Fact(
                "JVM",
                property("java.vm.name") + " " + property("java.runtime.version") + ", " + property("java.vendor")));
        facts.add(new Fact(
                "Heap of the JVM",
                "at most " + Numbers.bytes(Runtime.getRuntime().maxMemory())));
        facts.add(new Fact("Memory outside the heap", outsideHeap()));
        facts.add(new Fact("Options of the JVM", options()));
        new TreeMap<>(variables).forEach((name, value) -> {
            if (VARIABLES.stream().anyMatch(name::startsWith)) {
                facts.add(new Fact(name, value));
            }
        });
        return new Environment(facts);
    }

    private static String property(String name) {
        return System.getProperty(name, "unknown");
    }

    private static String ofBackend(String name) {
        return Nd4j.getExecutioner().getEnvironmentInformation().getProperty(name, "unknown");
    }

    /** Returns the version that Maven has written into a library; other builds may have left it out. */
    private static String version(Class<?> ofLibrary, String artifact) {
        try (InputStream stream = ofLibrary.getResourceAsStream("/META-INF/maven/" + artifact + "/pom.properties")) {
            Properties properties = new Properties();
            if (stream != null) {
                properties.load(stream);
            }
            return properties.getProperty("version", "unknown");
        } catch (IOException e) {
            return "unknown";
        }
    }

    private static String loaderVersion() {
        try {
            return Loader.getVersion();
        } catch (IOException e) {
            return "unknown";
        }
    }

    private static String outsideHeap() {
        return "at most " + Numbers.bytes(Pointer.maxBytes()) + ", of the whole process "
                + Numbers.bytes(Pointer.maxPhysicalBytes());
    }

    private static String options() {
        String options = ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .filter(option -> OPTIONS.stream().anyMatch(option::startsWith))
                .collect(Collectors.joining(" "));
        return options.isEmpty() ? "none" : options;
    }
}
