package org.dl4jamp.inspect.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.dl4jamp.inspect.gpu.CudaBackend.Code;
import org.dl4jamp.inspect.gpu.Gpu;
import org.dl4jamp.inspect.gpu.GpuReport;
import org.dl4jamp.inspect.machine.AutomaticChoice;
import org.dl4jamp.inspect.machine.EngineState;
import org.dl4jamp.inspect.machine.Host;
import org.dl4jamp.inspect.machine.JavaRuntime;
import org.dl4jamp.inspect.machine.Nd4jReport;
import org.dl4jamp.inspect.machine.SystemReport;
import org.dl4jamp.inspect.settings.Setting;
import org.dl4jamp.inspect.speed.SideSpeed;
import org.dl4jamp.inspect.speed.SpeedReport;
import org.dl4jamp.inspect.speed.WorkloadSpeed;
import org.dl4jamp.inspect.text.Paragraphs;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;

class DoctorTextTest {
    private static final long GIB = 1L << 30;

    private static final Host HOST =
            new Host("Linux 6.1", "amd64", "AMD EPYC", 4, 2, 16 * GIB, 8 * GIB, List.of("avx2", "avx512_bf16"), true);
    private static final JavaRuntime JAVA = new JavaRuntime("17.0.15", "Debian", 4, 4 * GIB);
    private static final GpuReport NO_GPU =
            new GpuReport(List.of(), "no NVIDIA driver found", List.of(), List.of(), List.of());
    private static final AutomaticChoice BFLOAT16 =
            new AutomaticChoice(Precision.BFLOAT16, "onednn", false, "this CPU multiplies BFLOAT16 natively");

    private static SideSpeed side(Precision precision, String engine, boolean automatic, Double millis, Double times) {
        return new SideSpeed(
                precision, engine, automatic, millis, 5, times, millis == null ? "too little memory" : null);
    }

    private static SpeedReport speed(Double others) {
        return new SpeedReport(
                13.26,
                others,
                17.04,
                List.of(new WorkloadSpeed(
                        "dense",
                        "dense layers",
                        "8-16-4, batch 4",
                        side(Precision.FLOAT, null, false, 240.4, 1.0),
                        List.of(
                                side(Precision.BFLOAT16, "onednn", true, 76.53, 3.141),
                                side(Precision.HALF, "nd4j", false, null, null)),
                        3.141)));
    }

    @Test
    void theMachineIsSaidWithItsNumbers() {
        String text = MachineText.of(new SystemReport(HOST, JAVA, NO_GPU, List.of()));
        for (String expected : List.of(
                "Linux 6.1, amd64",
                "AMD EPYC, 4 processors, 2 cores",
                "avx2 avx512_bf16: multiplies BFLOAT16 natively",
                "16.0 GiB, 8.0 GiB available",
                "17.0.15 (Debian), 4 processors, heap of at most 4.0 GiB",
                "no NVIDIA driver found.",
                "nothing that matters is set")) {
            assertTrue(text.contains(expected), expected + " in:\n" + text);
        }
    }

    @Test
    void whatIsUnknownIsSaidToBeUnknown() {
        Host host = new Host("Mac OS X 14", "aarch64", "Apple M2", null, null, GIB, null, null, null);
        String text = MachineText.of(new SystemReport(host, JAVA, NO_GPU, List.of()));
        assertTrue(text.contains("unknown on this operating system"), text);
        assertFalse(text.contains("null"), text);
    }

    @Test
    void aGpuIsFollowedByItsBackendsAndByAdvice() {
        Gpu gpu = new Gpu(
                "NVIDIA H100",
                "9.0",
                "Hopper",
                "535.1",
                80 * GIB,
                List.of(
                        new Gpu.Support("nd4j-cuda-11.6", "1.0.0-M2.1", Code.NONE),
                        new Gpu.Support("nd4j-cuda-11.2", "1.0.0-M1.1", Code.PTX),
                        new Gpu.Support("nd4j-cuda-99", "2", Code.MACHINE_CODE)));
        GpuReport gpus = new GpuReport(List.of(gpu), null, List.of(), List.of(), List.of("Train on the CPU."));
        String text = MachineText.of(new SystemReport(HOST, JAVA, gpus, List.of()));
        assertTrue(text.contains("NVIDIA H100, compute capability 9.0 (Hopper), 80.0 GiB, driver 535.1"), text);
        assertTrue(text.contains("nd4j-cuda-11.6   1.0.0-M2.1  no code for this GPU"), text);
        assertTrue(text.contains("PTX, which the driver compiles"), text);
        assertTrue(text.contains("machine code for this GPU"), text);
        assertTrue(text.contains("- Train on the CPU."), text);
    }

    @Test
    void settingsThatHarmAreMarked() {
        List<Setting> settings = List.of(
                new Setting(Setting.Kind.ENVIRONMENT, "OMP_NUM_THREADS", "64", true, "Too many.", "Set it to 4."),
                new Setting(Setting.Kind.SYSTEM_PROPERTY, "a.b", null, false, "Nothing.", null));
        String text = MachineText.of(new SystemReport(HOST, JAVA, NO_GPU, settings));
        assertTrue(text.contains("  ! OMP_NUM_THREADS=64"), text);
        assertTrue(text.contains("    Too many. Set it to 4."), text);
        assertTrue(text.contains("  - a.b is not set"), text);
    }

    @Test
    void enginesAreSaidWithWhatTheyComputeAndWhy() {
        EngineState onednn = new EngineState(
                "onednn",
                null,
                Map.of("oneDNN", "3.11.0"),
                List.of(Precision.FLOAT, Precision.BFLOAT16),
                Map.of(Precision.HALF, "oneDNN doesn't multiply it"));
        EngineState missing = new EngineState("other", "its library is missing", Map.of(), List.of(), Map.of());
        Nd4jReport nd4j = new Nd4jReport(
                "nd4j-native 1.0.0-M2.1", null, "CPU", "OPENBLAS", 4, 4 * GIB, 0L, List.of(onednn, missing), BFLOAT16);
        String text = MachineText.of(nd4j);
        for (String expected : List.of(
                "nd4j-native 1.0.0-M2.1",
                "CPU, BLAS: OPENBLAS, 4 threads",
                "at most 4.0 GiB; the whole process: no limit",
                "computes FLOAT, BFLOAT16",
                "oneDNN 3.11.0",
                "not HALF: oneDNN doesn't multiply it",
                "other        unavailable: its library is missing",
                "BFLOAT16 on engine onednn: this CPU multiplies BFLOAT16 natively.")) {
            assertTrue(text.contains(expected), expected + " in:\n" + text);
        }
    }

    @Test
    void aBackendThatIsNotLoadedIsSaidWithTheReason() {
        Nd4jReport nd4j = new Nd4jReport(
                "nd4j-cuda-11.6 1.0.0-M2.1", "not loaded, because", null, null, null, null, null, List.of(), null);
        String text = MachineText.of(nd4j);
        assertTrue(text.contains("not loaded, because"), text);
        assertFalse(text.contains("null"), text);
    }

    @Test
    void timesAndThePredictionAreInTheTable() {
        String text = SpeedText.of(speed(0.02), BFLOAT16);
        List<String> lines = text.lines().toList();
        assertTrue(lines.get(0).contains("13.3 s"), text);
        assertTrue(lines.get(1).contains("stock DL4J") && lines.get(1).contains("BFLOAT16, onednn *"), text);
        assertTrue(lines.get(2).matches("  dense layers +240 +76\\.5 \\(3\\.1x\\) +-"), text);
        assertTrue(text.contains("HALF not measured: too little memory"), text);
        assertTrue(text.contains("memory: 17.0 GB/s"), text);
        assertTrue(text.contains("Prediction: training with AUTO (BFLOAT16 on engine onednn)"), text);
        assertTrue(text.contains("dense layers   3.1 times as fast"), text);
        assertFalse(text.contains("Other programs"), text);
        assertTrue(lines.stream().allMatch(line -> line.length() <= Paragraphs.WIDTH), text);
    }

    @Test
    void aBusyMachineIsSaidSinceItChangesTheFigures() {
        assertTrue(SpeedText.of(speed(0.34), BFLOAT16).contains("Other programs took 34 %"));
        assertFalse(SpeedText.of(speed(null), BFLOAT16).contains("Other programs"));
    }

    @Test
    void numbersHaveThreeDigits() {
        assertEquals("1.23", SpeedText.digits(1.234));
        assertEquals("12.3", SpeedText.digits(12.34));
        assertEquals("1234", SpeedText.digits(1234.4));
    }
}
