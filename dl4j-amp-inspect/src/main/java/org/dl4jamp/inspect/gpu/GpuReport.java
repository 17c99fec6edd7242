package org.dl4jamp.inspect.gpu;

import java.util.List;
import java.util.Optional;

/**
 * The GPUs of this machine, and what ND4J can do with them.
 *
 * @param found the GPUs that NVIDIA's driver names
 * @param missing why there are none; null if there are
 * @param released the released CUDA backends of ND4J, with the GPUs that they have code for
 * @param onClassPath the backends of ND4J on the class path
 * @param advice what to do with these GPUs, in sentences; empty if there are none
 */
public record GpuReport(
        List<Gpu> found,
        String missing,
        List<CudaBackend> released,
        List<Nd4jBackendArtifact> onClassPath,
        List<String> advice) {
    public GpuReport {
        found = List.copyOf(found);
        released = List.copyOf(released);
        onClassPath = List.copyOf(onClassPath);
        advice = List.copyOf(advice);
    }

    /** Asks NVIDIA's driver, for ten seconds at most, and looks at the class path. ND4J isn't loaded for that. */
    public static GpuReport ofThisMachine() {
        ClassLoader nd4js = Thread.currentThread().getContextClassLoader();
        return of(
                new NvidiaSmi(ExternalCommand.SYSTEM),
                Nd4jBackendArtifact.on(nd4js == null ? GpuReport.class.getClassLoader() : nd4js));
    }

    static GpuReport of(NvidiaSmi driver, List<Nd4jBackendArtifact> onClassPath) {
        NvidiaSmi.Answer answer = driver.ask();
        return new GpuReport(
                answer.gpus(),
                answer.missing().orElse(null),
                CudaBackend.RELEASED,
                onClassPath,
                GpuAdvice.of(answer.gpus(), onClassPath));
    }

    /**
     * Returns why ND4J would fail on these GPUs; empty if that isn't certain. It is if ND4J's CUDA backend on the class
     * path is a released one that has code for none of them.
     */
    public Optional<String> obstacle() {
        return onClassPath.stream()
                .filter(Nd4jBackendArtifact::isCuda)
                .filter(backend -> !found.isEmpty() && found.stream().allMatch(gpu -> lacksCode(gpu, backend)))
                .map(backend -> backend.title() + " has no code for " + names())
                .findFirst();
    }

    private static boolean lacksCode(Gpu gpu, Nd4jBackendArtifact backend) {
        return gpu.backends().stream()
                .anyMatch(each -> each.artifact().equals(backend.artifact())
                        && each.version().equals(backend.version())
                        && each.code() == CudaBackend.Code.NONE);
    }

    private String names() {
        return String.join(
                ", ",
                found.stream()
                        .map(gpu -> gpu.name() + " (compute capability " + gpu.computeCapability() + ")")
                        .distinct()
                        .toList());
    }
}
