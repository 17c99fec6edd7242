package org.dl4jamp.inspect.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class EnvironmentTest {
    private static Map<String, String> facts(Map<String, String> variables) {
        return Environment.read(variables).facts().stream()
                .collect(Collectors.toMap(Environment.Fact::name, Environment.Fact::value));
    }

    @Test
    void ofTheVariablesThoseThatChangeNumbersOrTimesAreShown() {
        Map<String, String> facts = facts(
                Map.of("OMP_NUM_THREADS", "3", "AWS_SECRET", "hidden", "ONEDNN_MAX_CPU_ISA", "AVX2", "HOME", "/"));
        assertEquals("3", facts.get("OMP_NUM_THREADS"));
        assertEquals("AVX2", facts.get("ONEDNN_MAX_CPU_ISA"));
        assertFalse(facts.containsKey("AWS_SECRET") || facts.containsKey("HOME"));
    }

    @Test
    void versionsAndMachineAreKnown() {
        Map<String, String> facts = facts(Map.of());
        assertTrue(facts.get("ND4J").startsWith("1.0.0"), facts.get("ND4J"));
        assertEquals(facts.get("ND4J"), facts.get("DL4J"));
        assertTrue(facts.get("dl4j-amp").matches("\\d+\\.\\d+.*"), facts.get("dl4j-amp"));
        assertEquals(String.valueOf(Runtime.getRuntime().availableProcessors()), facts.get("Processors for the JVM"));
        assertTrue(facts.get("Operating system").startsWith(System.getProperty("os.name")));
    }
}
