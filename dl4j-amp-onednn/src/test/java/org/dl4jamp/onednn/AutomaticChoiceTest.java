package org.dl4jamp.onednn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** Plan and log of AUTO, on this CPU and on lesser ones for which it can be taken. */
class AutomaticChoiceTest {
    private static final String ISA = "ONEDNN_MAX_CPU_ISA";

    private static final String NATIVE = """
            BFLOAT16: NATIVE
            DEBUG Mixed precision is on: BFLOAT16 on engine "onednn", since this CPU multiplies BFLOAT16 natively
            Precision plan: BFLOAT16 (this CPU multiplies BFLOAT16 natively)
            layer   class        precision  output    engine  reason
            layer0  DenseLayer   BFLOAT16   BFLOAT16  onednn  computes BFLOAT16 with sums in FP32, rounded once
            layer1  OutputLayer  BFLOAT16   FLOAT     onednn  computes BFLOAT16 with sums and loss in FP32; output in FP32: network outputs are FP32
            """;

    private static final String EMULATED_WHY =
            "this CPU has no instructions for products of BFLOAT16. precision(BFLOAT16) would halve the"
                    + " memory of activations, in up to three times FP32's time";

    private static final String NONE_WHY =
            "this CPU has no instructions for products of BFLOAT16, nor for oneDNN to do without them";

    @Test
    void onThisCpu() throws Exception {
        String printed = run("");
        String expected =
                switch (printed.lines().findFirst().orElseThrow()) {
                    case "BFLOAT16: NATIVE" -> NATIVE;
                    case "BFLOAT16: EMULATED" -> inFloat("EMULATED", EMULATED_WHY);
                    default -> inFloat("NONE", NONE_WHY);
                };
        assertBegins(expected, printed);
    }

    @Test
    void withAvx512AndWithoutInstructionsForBfloat16ItIsFp32() throws Exception {
        String printed = run("AVX512_CORE");
        assertNotEquals("BFLOAT16: NATIVE", printed.lines().findFirst().orElseThrow());
        boolean emulated = printed.startsWith("BFLOAT16: EMULATED");
        assertBegins(emulated ? inFloat("EMULATED", EMULATED_WHY) : inFloat("NONE", NONE_WHY), printed);
    }

    @Test
    void withAvx2ItIsFp32() throws Exception {
        assertBegins(inFloat("NONE", NONE_WHY), run("AVX2"));
    }

    private static String inFloat(String bfloat16, String why) {
        return """
                BFLOAT16: %s
                INFO The network trains in FP32 on engine "onednn": %s
                Precision plan: FLOAT (%s)
                layer   class        precision  output  engine  reason
                layer0  DenseLayer   FLOAT      FLOAT   onednn  FP32, through oneDNN
                layer1  OutputLayer  FLOAT      FLOAT   onednn  FP32, through oneDNN
                """.formatted(bfloat16, why, why);
    }

    private static void assertBegins(String expected, String printed) {
        assertTrue(printed.length() > expected.length(), printed);
        assertEquals(expected, printed.substring(0, expected.length()));
    }

    /**
     * Runs {@link AutomaticChoice} in a JVM of its own.
     *
     * @param isa the most that oneDNN may take of the CPU, empty for all of it
     */
    private static String run(String isa) throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                AutomaticChoice.class.getName());
        builder.environment().remove(ISA);
        if (!isa.isEmpty()) {
            builder.environment().put(ISA, isa);
        }
        Process process = builder.redirectError(ProcessBuilder.Redirect.INHERIT).start();
        String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), printed);
        return printed.substring(printed.indexOf("BFLOAT16: "));
    }
}
