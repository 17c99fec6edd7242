package org.dl4jamp.inspect.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.dl4jamp.inspect.gpu.ExternalCommand.Outcome;
import org.dl4jamp.inspect.gpu.ExternalCommand.Result;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class GpuReportTest {
    private static final Nd4jBackendArtifact NATIVE = new Nd4jBackendArtifact("nd4j-native", "1.0.0-M2.1");
    private static final Nd4jBackendArtifact CUDA = new Nd4jBackendArtifact("nd4j-cuda-11.6", "1.0.0-M2.1");
    private static final Nd4jBackendArtifact PTX = new Nd4jBackendArtifact("nd4j-cuda-11.2", "1.0.0-M1.1");

    private static final String H100 = "NVIDIA H100 80GB HBM3, 9.0, 535.129.03, 81559 MiB";
    private static final String A100 = "NVIDIA A100-SXM4-40GB, 8.0, 535.129.03, 40960 MiB";
    private static final String RTX_5090 = "NVIDIA GeForce RTX 5090, 12.0, 580.65.06, 32607 MiB";

    private static GpuReport report(List<Nd4jBackendArtifact> onClassPath, String... lines) {
        return GpuReport.of(
                new NvidiaSmi((command, limit) -> new Result(Outcome.ENDED, 0, List.of(lines))), onClassPath);
    }

    private static String advice(List<Nd4jBackendArtifact> onClassPath, String... lines) {
        return String.join(" ", report(onClassPath, lines).advice());
    }

    @Test
    void theOwnerOfAHopperIsToldThatNoBackendHasCodeAndWhatIsLeft() {
        String advice = advice(List.of(NATIVE), H100);
        assertTrue(
                advice.contains("No CUDA backend released for DL4J 1.0.0-M2.1 has code for NVIDIA H100 80GB HBM3"
                        + " (Hopper, compute capability 9.0)"),
                advice);
        assertTrue(advice.contains("nd4j-cuda-11.6 or nd4j-cuda-11.4"), advice);
        assertTrue(advice.contains("train on the CPU"), advice);
        assertTrue(advice.contains("AMP_PROFILE=cuda-ptx"), advice);
        assertTrue(advice.contains("CUDA_CACHE_MAXSIZE"), advice);
        assertTrue(advice.contains("from CUDA 11.8"), advice);
        assertTrue(advice.contains("1.0.0-SNAPSHOT"), advice);
    }

    @Test
    void theOwnerOfABlackwellIsNotSentToCuda11sCublas() {
        String advice = advice(List.of(NATIVE), RTX_5090);
        assertTrue(advice.contains("(Blackwell, compute capability 12.0)"), advice);
        assertTrue(advice.contains("cuBLAS of CUDA 11 is older than this GPU"), advice);
        assertFalse(advice.contains("from CUDA 11.8"), advice);
    }

    @Test
    void theOwnerOfAnAmpereIsToldWhichBackendsRunAndHowToTakeThem() {
        String onCpu = advice(List.of(NATIVE), A100);
        assertTrue(onCpu.contains("nd4j-cuda-11.6 and nd4j-cuda-11.4 1.0.0-M2.1 have machine code for"), onCpu);
        assertTrue(onCpu.contains("AUTO takes HALF"), onCpu);
        assertTrue(onCpu.contains("AMP_PROFILE=cuda ./amp doctor"), onCpu);
        assertFalse(advice(List.of(CUDA), A100).contains("AMP_PROFILE"));
    }

    @Test
    void olderGpusGetNoPromiseOfSpeed() {
        String pascal = advice(List.of(CUDA), "Tesla P100, 6.0, 535.1, 16384 MiB");
        assertTrue(pascal.contains("no Tensor Cores"), pascal);
        String maxwell = advice(List.of(CUDA), "GeForce GTX 980, 5.2, 535.1, 4096 MiB");
        assertTrue(maxwell.contains("AUTO takes FP32"), maxwell);
        String kepler = advice(List.of(CUDA), "Tesla K40, 3.5, 470.1, 11441 MiB");
        assertTrue(kepler.contains("1.0.0-M1.1 with nd4j-cuda-11.2, which has machine code"), kepler);
        assertFalse(kepler.contains("CUDA 12"), kepler);
    }

    @Test
    void twoEqualGpusAreAdvisedOnce() {
        assertEquals(
                report(List.of(NATIVE), H100).advice(),
                report(List.of(NATIVE), H100, H100).advice());
    }

    @Test
    void aGpuOfUnknownCapabilityIsSentToTheTable() {
        String advice = advice(List.of(NATIVE), "GRID A100-4C, [N/A], 550.54.14, [N/A]");
        assertTrue(advice.contains("doesn't tell its compute capability"), advice);
    }

    @Test
    void nd4jWouldFailWhereItsBackendHasCodeForNoGpu() {
        assertEquals(
                "nd4j-cuda-11.6 1.0.0-M2.1 has no code for NVIDIA H100 80GB HBM3 (compute capability 9.0)",
                report(List.of(CUDA), H100).obstacle().orElseThrow());
        assertTrue(report(List.of(NATIVE, CUDA), H100).obstacle().isPresent());
    }

    @Test
    void elsewhereNothingIsInItsWay() {
        assertEquals(Optional.empty(), report(List.of(CUDA), H100, A100).obstacle());
        assertEquals(Optional.empty(), report(List.of(PTX), H100).obstacle());
        assertEquals(Optional.empty(), report(List.of(NATIVE), H100).obstacle());
        assertEquals(Optional.empty(), report(List.of(CUDA)).obstacle());
    }

    @ParameterizedTest
    @ValueSource(strings = {"nd4j-cuda-12.9, 1.0.0-SNAPSHOT", "nd4j-cuda-11.6, 1.0.0-M3"})
    void backendsThatAreInNoTableAreTried(String backend) {
        String[] parts = backend.split(", ", -1);
        Nd4jBackendArtifact artifact = new Nd4jBackendArtifact(parts[0], parts[1]);
        assertEquals(Optional.empty(), report(List.of(artifact), H100).obstacle());
    }
}
