package org.dl4jamp.inspect.gpu;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.dl4jamp.inspect.gpu.CudaBackend.Code;

/** Tells the owner of a GPU, in sentences, which backend of ND4J runs on it and what is left if none does. */
final class GpuAdvice {
    /** The release of DL4J that dl4j-amp is built for. */
    private static final String RELEASE = "1.0.0-M2.1";

    /** The release whose CUDA backends hold PTX. */
    private static final String OLDER_RELEASE = "1.0.0-M1.1";

    private GpuAdvice() {}

    static List<String> of(List<Gpu> gpus, List<Nd4jBackendArtifact> onClassPath) {
        Set<String> advice = new LinkedHashSet<>();
        for (Gpu gpu : gpus) {
            gpu.capability()
                    .ifPresentOrElse(
                            capability -> advice.addAll(of(gpu, capability, onClassPath)),
                            () -> advice.add(gpu.name() + ": NVIDIA's driver doesn't tell its compute capability."
                                    + " Look it up, and compare it with the table in docs/gpu.md."));
        }
        return List.copyOf(advice);
    }

    private static List<String> of(Gpu gpu, ComputeCapability capability, List<Nd4jBackendArtifact> onClassPath) {
        List<String> current = artifacts(gpu, Code.MACHINE_CODE, RELEASE);
        if (!current.isEmpty()) {
            return served(gpu, capability, current, onClassPath);
        }
        List<String> advice = new ArrayList<>();
        advice.add("No CUDA backend released for DL4J " + RELEASE + " has code for " + title(gpu) + ". With "
                + String.join(" or ", artifacts(gpu, Code.NONE, RELEASE))
                + " ND4J fails with a CUDA error that doesn't say so.");
        advice.add("What works here: train on the CPU, with nd4j-native and dl4j-amp-onednn.");
        if (!artifacts(gpu, Code.MACHINE_CODE, OLDER_RELEASE).isEmpty()) {
            advice.add("Untried: DL4J " + OLDER_RELEASE + " with nd4j-cuda-11.2, which has machine code for it."
                    + " AMP_PROFILE=cuda-ptx ./amp doctor takes it.");
        } else if (!artifacts(gpu, Code.PTX, OLDER_RELEASE).isEmpty()) {
            advice.addAll(throughPtx(capability));
            advice.add("Untried, too: upstream's snapshots for CUDA 12, if you have them. AMP_PROFILE=cuda"
                    + " AMP_MAVEN_ARGS=\"-Dnd4j.cuda.version=12.9 -Ddl4j.version=1.0.0-SNAPSHOT\" ./amp doctor");
        }
        return advice;
    }

    private static List<String> served(
            Gpu gpu, ComputeCapability capability, List<String> artifacts, List<Nd4jBackendArtifact> onClassPath) {
        List<String> advice = new ArrayList<>();
        String use;
        if (!capability.isAtLeast(6, 0)) {
            use = "ND4J doesn't multiply HALF matrices into FP32 there, so AUTO takes FP32.";
        } else if (!capability.isAtLeast(7, 0)) {
            use = "It has no Tensor Cores: HALF takes half the memory for activations, and hardly less time.";
        } else {
            use = "It has Tensor Cores, which multiply HALF: AUTO takes HALF.";
        }
        advice.add(String.join(" and ", artifacts) + " " + RELEASE + " have machine code for " + title(gpu) + ". " + use
                + " How fast it is hasn't been measured (docs/gpu.md).");
        if (onClassPath.stream().noneMatch(Nd4jBackendArtifact::isCuda)) {
            advice.add("The class path has no CUDA backend, so ND4J computes on the CPU. This command takes the GPU:"
                    + " AMP_PROFILE=cuda ./amp doctor");
        }
        return advice;
    }

    private static List<String> throughPtx(ComputeCapability capability) {
        boolean isHopper = capability.major() == 9;
        String cublas = isHopper
                ? "cuBLAS has to come from CUDA 11.8, the first that supports this GPU."
                : "cuBLAS of CUDA 11 is older than this GPU, and whether it runs there is unknown.";
        return List.of(
                "Untried: DL4J " + OLDER_RELEASE + " with nd4j-cuda-11.2, whose PTX the driver compiles for this GPU. "
                        + cublas + " AMP_PROFILE=cuda-ptx ./amp doctor takes it.",
                "The driver compiles at the first start, for an hour or more. Set CUDA_CACHE_MAXSIZE=4294967296"
                        + " before, so that it keeps the result.");
    }

    private static List<String> artifacts(Gpu gpu, Code code, String version) {
        return gpu.backends().stream()
                .filter(each -> each.code() == code && each.version().equals(version))
                .map(Gpu.Support::artifact)
                .toList();
    }

    private static String title(Gpu gpu) {
        return gpu.name() + " (" + gpu.generation() + ", compute capability " + gpu.computeCapability() + ")";
    }
}
