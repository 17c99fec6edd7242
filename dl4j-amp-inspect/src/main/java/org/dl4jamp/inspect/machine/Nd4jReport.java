package org.dl4jamp.inspect.machine;

import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.stream.Collectors;
import org.bytedeco.javacpp.Pointer;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.engine.ComputeEngine;
import org.dl4jamp.engine.Engines;
import org.dl4jamp.inspect.gpu.GpuReport;
import org.dl4jamp.inspect.gpu.Nd4jBackendArtifact;
import org.dl4jamp.precision.Precision;
import org.nd4j.linalg.factory.Nd4j;

/**
 * ND4J and the engines in this process.
 *
 * @param backend artifact and version of the backend on the class path, such as {@code nd4j-native 1.0.0-M2.1}; several
 *     are separated by commas, and it's {@code unknown} for a repackaged one
 * @param failure why ND4J couldn't be loaded, or wasn't; null if it's loaded. All below is null or empty then
 * @param device {@code CPU} or {@code CUDA}
 * @param blas the library of ND4J's own products of matrices
 * @param threads the threads of ND4J's operations
 * @param arraysLimitBytes the most that arrays may take outside the heap; 0 for no limit
 * @param processLimitBytes the physical memory of the process above which new arrays fail; 0 for no limit
 * @param engines the engines on the class path
 * @param automatic the choice of {@link Precision#AUTO}
 */
public record Nd4jReport(
        String backend,
        String failure,
        String device,
        String blas,
        Integer threads,
        Long arraysLimitBytes,
        Long processLimitBytes,
        List<EngineState> engines,
        AutomaticChoice automatic) {
    public Nd4jReport {
        engines = List.copyOf(engines);
    }

    /** Loads ND4J, unless it's certain that it would fail on these GPUs, and asks the engines. */
    public static Nd4jReport load(GpuReport gpus) {
        String backend = gpus.onClassPath().isEmpty()
                ? "unknown"
                : gpus.onClassPath().stream().map(Nd4jBackendArtifact::title).collect(Collectors.joining(", "));
        Optional<String> obstacle = gpus.obstacle();
        if (obstacle.isPresent()) {
            return failed(backend, "not loaded, because " + obstacle.get());
        }
        try {
            return read(backend);
        } catch (LinkageError | RuntimeException e) {
            // A missing native library is an error of linking; a backend without a device throws.
            return failed(backend, "can't be loaded: " + rootCause(e));
        }
    }

    /** Returns whether ND4J is loaded. */
    public boolean loaded() {
        return failure == null;
    }

    private static Nd4jReport failed(String backend, String failure) {
        return new Nd4jReport(backend, failure, null, null, null, null, null, List.of(), null);
    }

    private static Nd4jReport read(String backend) {
        Properties environment = Nd4j.getExecutioner().getEnvironmentInformation();
        return new Nd4jReport(
                backend,
                null,
                Nd4j.getEnvironment().isCPU() ? "CPU" : "CUDA",
                String.valueOf(environment.get("blas.vendor")),
                Nd4j.getEnvironment().maxThreads(),
                Pointer.maxBytes(),
                Pointer.maxPhysicalBytes(),
                Engines.found().stream().map(EngineState::of).toList(),
                choose());
    }

    private static AutomaticChoice choose() {
        Engines.Choice choice = Engines.choose(AmpConfig.AUTO_ENGINE, Precision.AUTO);
        ComputeEngine engine = choice.engine();
        boolean dl4jAsIs = choice.precision() == Precision.FLOAT && !engine.computesFloat();
        return new AutomaticChoice(choice.precision(), engine.name(), dl4jAsIs, choice.reason());
    }

    private static String rootCause(Throwable error) {
        Throwable cause = error;
        while (cause.getCause() != null && cause.getCause() != cause) {
            cause = cause.getCause();
        }
        return cause.toString().lines().findFirst().orElseThrow();
    }
}
