package org.dl4jamp.inspect.gpu;

import java.util.List;
import java.util.Optional;

/**
 * A GPU as NVIDIA's driver describes it.
 *
 * @param name its name
 * @param computeCapability such as {@code 9.0}; null if the driver doesn't say
 * @param generation NVIDIA's name of the generation; null if the compute capability is unknown
 * @param driver version of the driver
 * @param memoryBytes its memory; null if the driver doesn't say
 * @param backends what each released backend of ND4J has for it; empty if the compute capability is unknown
 */
public record Gpu(
        String name,
        String computeCapability,
        String generation,
        String driver,
        Long memoryBytes,
        List<Support> backends) {
    /** The code of a released backend for a GPU. */
    public record Support(String artifact, String version, CudaBackend.Code code) {}

    public Gpu {
        backends = List.copyOf(backends);
    }

    /** Returns a GPU with what follows from its compute capability. */
    static Gpu of(String name, Optional<ComputeCapability> capability, String driver, Long memoryBytes) {
        return new Gpu(
                name,
                capability.map(ComputeCapability::toString).orElse(null),
                capability.map(ComputeCapability::generation).orElse(null),
                driver,
                memoryBytes,
                capability.stream()
                        .flatMap(of -> CudaBackend.RELEASED.stream()
                                .map(each -> new Support(each.artifact(), each.version(), each.codeFor(of))))
                        .toList());
    }

    Optional<ComputeCapability> capability() {
        return Optional.ofNullable(computeCapability).flatMap(ComputeCapability::parse);
    }
}
