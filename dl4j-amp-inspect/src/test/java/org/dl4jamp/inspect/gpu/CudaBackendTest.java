package org.dl4jamp.inspect.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Optional;
import org.dl4jamp.inspect.gpu.CudaBackend.Code;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CudaBackendTest {
    /** By the code that the fat binaries of the four libraries hold. */
    @ParameterizedTest
    @CsvSource({
        "3.0, NONE, NONE, NONE, NONE",
        "3.5, NONE, NONE, MACHINE_CODE, MACHINE_CODE",
        "3.7, MACHINE_CODE, MACHINE_CODE, MACHINE_CODE, MACHINE_CODE",
        "5.2, MACHINE_CODE, MACHINE_CODE, MACHINE_CODE, MACHINE_CODE",
        "6.1, MACHINE_CODE, MACHINE_CODE, MACHINE_CODE, MACHINE_CODE",
        "7.0, MACHINE_CODE, MACHINE_CODE, MACHINE_CODE, MACHINE_CODE",
        "7.5, MACHINE_CODE, MACHINE_CODE, MACHINE_CODE, MACHINE_CODE",
        "8.0, MACHINE_CODE, MACHINE_CODE, MACHINE_CODE, MACHINE_CODE",
        "8.6, MACHINE_CODE, MACHINE_CODE, MACHINE_CODE, MACHINE_CODE",
        "8.9, MACHINE_CODE, MACHINE_CODE, MACHINE_CODE, MACHINE_CODE",
        "9.0, NONE, NONE, PTX, PTX",
        "10.0, NONE, NONE, PTX, PTX",
        "12.0, NONE, NONE, PTX, PTX",
    })
    void releasedBackendsHaveCodeFor(String capability, Code cuda116, Code cuda114, Code cuda112, Code cuda110) {
        ComputeCapability gpu = ComputeCapability.of(capability);
        assertEquals(cuda116, backend("nd4j-cuda-11.6", "1.0.0-M2.1").codeFor(gpu));
        assertEquals(cuda114, backend("nd4j-cuda-11.4", "1.0.0-M2.1").codeFor(gpu));
        assertEquals(cuda112, backend("nd4j-cuda-11.2", "1.0.0-M1.1").codeFor(gpu));
        assertEquals(cuda110, backend("nd4j-cuda-11.0", "1.0.0-M1.1").codeFor(gpu));
    }

    private static CudaBackend backend(String artifact, String version) {
        return CudaBackend.RELEASED.stream()
                .filter(each ->
                        each.artifact().equals(artifact) && each.version().equals(version))
                .findFirst()
                .orElseThrow();
    }

    @ParameterizedTest
    @CsvSource({
        "3.5, Kepler",
        "5.0, Maxwell",
        "6.1, Pascal",
        "7.0, Volta",
        "7.5, Turing",
        "8.0, Ampere",
        "8.9, Ada",
        "9.0, Hopper",
        "10.0, Blackwell",
        "12.0, Blackwell",
        "13.0, newer than Blackwell",
    })
    void generationsHaveNames(String capability, String generation) {
        assertEquals(generation, ComputeCapability.of(capability).generation());
    }

    @Test
    void capabilitiesAreComparedByNumber() {
        assertEquals(Optional.empty(), ComputeCapability.parse("[N/A]"));
        assertEquals(Optional.empty(), ComputeCapability.parse("9"));
        assertEquals("10.0", ComputeCapability.parse("10.0").orElseThrow().toString());
        assertEquals(true, ComputeCapability.of("10.0").isAtLeast(9, 0));
        assertEquals(false, ComputeCapability.of("6.1").isAtLeast(7, 0));
        assertThrows(IllegalArgumentException.class, () -> ComputeCapability.of("new"));
    }
}
