package org.dl4jamp.inspect.gpu;

import java.util.List;
import java.util.stream.Stream;

/**
 * A released CUDA backend of ND4J, and the GPUs that its native library for Linux x86-64 has code for.
 *
 * <p>Machine code runs on GPUs of its own compute capability, and on those of the same major and a higher minor number.
 * PTX is compiled by the driver for any GPU that is as new or newer.
 *
 * @param artifact its artifact, of the group {@code org.nd4j}
 * @param version its release, which is DL4J's, too
 * @param machineCode compute capabilities of its machine code, such as {@code 8.6}
 * @param ptx compute capabilities of its PTX
 */
public record CudaBackend(String artifact, String version, List<String> machineCode, List<String> ptx) {
    private static final List<String> TO_AMPERE = List.of("5.0", "5.2", "6.0", "6.1", "7.0", "7.5", "8.0");

    /** The backends of the two releases that dl4j-amp works with, read from the fat binaries of their libraries. */
    static final List<CudaBackend> RELEASED = List.of(
            new CudaBackend("nd4j-cuda-11.6", "1.0.0-M2.1", with("3.7", TO_AMPERE, "8.6"), List.of()),
            new CudaBackend("nd4j-cuda-11.4", "1.0.0-M2.1", with("3.7", TO_AMPERE, "8.6"), List.of()),
            new CudaBackend("nd4j-cuda-11.2", "1.0.0-M1.1", with("3.5", TO_AMPERE, "8.6"), List.of("8.6")),
            new CudaBackend("nd4j-cuda-11.0", "1.0.0-M1.1", with("3.5", TO_AMPERE), List.of("8.0")));

    /** The code that a backend has for a GPU. */
    public enum Code {
        /** Code that runs as it is. */
        MACHINE_CODE,
        /** Code that the driver compiles at the first start. */
        PTX,
        /** Code for other GPUs only. */
        NONE
    }

    public CudaBackend {
        machineCode = List.copyOf(machineCode);
        ptx = List.copyOf(ptx);
    }

    private static List<String> with(String first, List<String> others, String... last) {
        return Stream.of(List.of(first), others, List.of(last))
                .flatMap(List::stream)
                .toList();
    }

    /** Returns artifact and release in one text. */
    String title() {
        return artifact + " " + version;
    }

    Code codeFor(ComputeCapability gpu) {
        boolean runs = machineCode.stream()
                .map(ComputeCapability::of)
                .anyMatch(code -> code.major() == gpu.major() && code.minor() <= gpu.minor());
        if (runs) {
            return Code.MACHINE_CODE;
        }
        return ptx.stream().map(ComputeCapability::of).anyMatch(code -> code.compareTo(gpu) <= 0)
                ? Code.PTX
                : Code.NONE;
    }
}
