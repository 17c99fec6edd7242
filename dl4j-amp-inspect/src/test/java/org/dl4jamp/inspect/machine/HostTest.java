package org.dl4jamp.inspect.machine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class HostTest {
    private static final long GIB = 1L << 30;

    private static List<String> processor(int number, int core, String flags) {
        return List.of(
                "processor\t: " + number,
                "vendor_id\t: AuthenticAMD",
                "model name\t: AMD EPYC 9R14",
                "physical id\t: 0",
                "core id\t\t: " + core,
                "cpu cores\t: 2",
                "flags\t\t: " + flags,
                "");
    }

    private static List<String> joined(List<List<String>> parts) {
        return parts.stream().flatMap(List::stream).toList();
    }

    @Test
    void readsAnX86ProcessorWithTwoThreadsPerCore() {
        String flags = "fpu sse sse4_2 avx fma f16c avx2 avx512f avx512_bf16 avx512_vnni";
        List<String> lines = joined(List.of(
                processor(0, 0, flags), processor(1, 0, flags), processor(2, 1, flags), processor(3, 1, flags)));
        Host host = Host.of("Linux 6.1", lines, 16 * GIB, 8 * GIB);
        assertEquals("AMD EPYC 9R14", host.cpu());
        assertEquals(4, host.processors());
        assertEquals(2, host.cores());
        assertEquals(
                List.of("sse4_2", "avx", "f16c", "fma", "avx2", "avx512f", "avx512_vnni", "avx512_bf16"),
                host.instructionSets());
        assertTrue(host.bfloat16());
        assertEquals("Linux 6.1", host.system());
        assertEquals(8 * GIB, host.availableMemoryBytes());
    }

    @Test
    void coresOfTwoSocketsAreDifferentOnes() {
        List<String> lines =
                List.of("processor: 0", "physical id: 0", "core id: 0", "processor: 1", "physical id: 1", "core id: 0");
        assertEquals(2, CpuInfo.parse(lines).cores());
    }

    @Test
    void anOlderProcessorDoesNotMultiplyBfloat16() {
        Host host = Host.of("Linux", processor(0, 0, "sse4_2 avx avx2 fma avx512f"), GIB, null);
        assertFalse(host.bfloat16());
        assertNull(host.availableMemoryBytes());
    }

    @Test
    void readsAnArmProcessor() {
        CpuInfo info = CpuInfo.parse(List.of(
                "processor\t: 0",
                "BogoMIPS\t: 2000.00",
                "Features\t: fp asimd evtstrm aes asimdhp asimddp sve i8mm bf16",
                "CPU implementer\t: 0x41"));
        assertEquals(Optional.empty(), info.name());
        assertEquals(1, info.processors());
        assertEquals(0, info.cores());
        assertEquals(List.of("asimd", "asimdhp", "asimddp", "sve", "bf16", "i8mm"), info.instructionSets());
        assertTrue(info.multipliesBfloat16());
    }

    @Test
    void withoutTheFileInstructionSetsAreUnknownAndNotNone() {
        Host host = Host.of("Mac OS X 14", List.of(), GIB, null);
        assertNull(host.instructionSets());
        assertNull(host.bfloat16());
        assertNull(host.processors());
        assertNull(host.cores());
        assertFalse(host.cpu().isBlank());
    }

    @Test
    void availableMemoryIsAtMostTheContainers() {
        List<String> lines = List.of("MemTotal:       24684096 kB", "MemAvailable:   16777216 kB");
        assertEquals(16 * GIB, Host.availableBytes(lines, 24 * GIB));
        assertEquals(2 * GIB, Host.availableBytes(lines, 2 * GIB));
        assertNull(Host.availableBytes(List.of(), 2 * GIB));
    }
}
