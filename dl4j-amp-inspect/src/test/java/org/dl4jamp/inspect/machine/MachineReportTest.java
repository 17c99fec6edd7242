package org.dl4jamp.inspect.machine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.List;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.engine.Engines;
import org.dl4jamp.inspect.gpu.CudaBackend.Code;
import org.dl4jamp.inspect.gpu.Gpu;
import org.dl4jamp.inspect.gpu.GpuReport;
import org.dl4jamp.inspect.gpu.Nd4jBackendArtifact;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.factory.Nd4j;

class MachineReportTest {
    private static final MachineReport HERE = MachineReport.ofThisProcess();

    @Test
    void saysWhatAutoTakesInANetwork() {
        AutomaticChoice automatic = HERE.nd4j().automatic();
        Engines.Choice choice = Engines.choose(AmpConfig.AUTO_ENGINE, Precision.AUTO);
        assertEquals(choice.precision(), automatic.precision());
        assertEquals(choice.engine().name(), automatic.engine());
        assertEquals(choice.reason(), automatic.reason());
        // These tests have no engine but the portable one.
        assertEquals(Nd4j.getEnvironment().isCPU(), automatic.dl4jAsIs());
    }

    @Test
    void namesTheEnginesAndWhatTheyCompute() {
        assertTrue(HERE.nd4j().loaded());
        assertEquals(1, HERE.nd4j().engines().size());
        EngineState portable = HERE.nd4j().engines().get(0);
        assertEquals("nd4j", portable.name());
        assertNull(portable.unavailable());
        assertEquals(List.of(Precision.BFLOAT16, Precision.HALF), portable.computes());
        assertEquals("it leaves FP32 to DL4J", portable.cannot().get(Precision.FLOAT));
    }

    @Test
    void namesBackendJvmAndMemoryAsTheyAre() {
        assertTrue(HERE.nd4j().backend().startsWith("nd4j-"), HERE.nd4j().backend());
        assertEquals(Nd4j.getEnvironment().maxThreads(), HERE.nd4j().threads());
        assertEquals(
                Runtime.version().feature(),
                Runtime.Version.parse(HERE.system().java().version()).feature());
        assertEquals(Runtime.getRuntime().maxMemory(), HERE.system().java().heapLimitBytes());
        assertTrue(HERE.system().host().memoryBytes() > 1L << 28);
        assertTrue(HERE.dl4jAmp().matches("\\d+\\.\\d+\\.\\d+.*"), HERE.dl4jAmp());
    }

    @Test
    void jsonHasTheSameUnderStableKeys() throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        JsonNode json = mapper.readTree(mapper.writeValueAsString(HERE));
        assertEquals(HERE.dl4jAmp(), json.at("/dl4jAmp").asText());
        assertEquals(HERE.system().host().cpu(), json.at("/system/host/cpu").asText());
        assertEquals(
                HERE.system().java().processors(),
                json.at("/system/java/processors").asInt());
        assertEquals(
                "nd4j-cuda-11.6", json.at("/system/gpus/released/0/artifact").asText());
        assertEquals("3.7", json.at("/system/gpus/released/0/machineCode/0").asText());
        assertEquals(
                HERE.nd4j().automatic().precision().name(),
                json.at("/nd4j/automatic/precision").asText());
        assertEquals("nd4j", json.at("/nd4j/engines/0/name").asText());
        assertEquals("HALF", json.at("/nd4j/engines/0/computes/1").asText());
        assertEquals(
                "it leaves FP32 to DL4J",
                json.at("/nd4j/engines/0/cannot/FLOAT").asText());
        for (JsonNode setting : json.at("/system/settings")) {
            assertFalse(setting.at("/name").asText().isEmpty());
            assertTrue(setting.at("/harms").isBoolean());
        }
    }

    @Test
    void nd4jIsNotLoadedWhereItsBackendHasNoCodeForTheGpu() {
        Gpu h100 = new Gpu(
                "H100", "9.0", "Hopper", "535.1", 1L, List.of(new Gpu.Support("nd4j-cuda-11.6", "M2.1", Code.NONE)));
        GpuReport gpus = new GpuReport(
                List.of(h100), null, List.of(), List.of(new Nd4jBackendArtifact("nd4j-cuda-11.6", "M2.1")), List.of());
        Nd4jReport report = Nd4jReport.load(gpus);
        assertFalse(report.loaded());
        assertEquals(
                "not loaded, because nd4j-cuda-11.6 M2.1 has no code for H100 (compute capability 9.0)",
                report.failure());
        assertEquals("nd4j-cuda-11.6 M2.1", report.backend());
        assertNull(report.automatic());
        assertEquals(List.of(), report.engines());
        assertNotNull(report.toString());
    }
}
