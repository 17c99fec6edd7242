package org.dl4jamp.inspect.settings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SettingsTest {
    private static final long GIB = 1L << 30;

    private final Map<String, String> environment = new HashMap<>();
    private final Map<String, String> properties = new HashMap<>(Map.of("os.name", "Linux"));
    private int processors = 8;
    private long heap = 4 * GIB;
    private boolean gpu;

    private List<Setting> all() {
        return Settings.of(new Surroundings(environment, properties, processors, 8, 16 * GIB, heap, gpu));
    }

    private Optional<Setting> find(String name) {
        return all().stream().filter(setting -> setting.name().equals(name)).findFirst();
    }

    private Setting of(String name, String value) {
        (name.contains(".") ? properties : environment).put(name, value);
        return find(name).orElseThrow(() -> new AssertionError("nothing is said of " + name));
    }

    @ParameterizedTest
    @CsvSource({
        "OMP_NUM_THREADS, 16, More threads than processors",
        "OMP_NUM_THREADS, 2, Only 2 of 8 processors",
        "OMP_NUM_THREADS, many, ND4J may not start",
        "OMP_NUM_THREADS, '8,2', ND4J may not start",
        "OMP_NUM_THREADS, 0, isn't one positive number",
        "OMP_THREAD_LIMIT, 4, at most 4 of 8",
        "SD_MAX_THREADS, 1, at most 1 of 8",
        "OMP_WAIT_POLICY, active, spin",
        "OMP_WAIT_POLICY, PASSIVE, wake up",
        "GOMP_SPINCOUNT, INFINITY, spin for long",
        "GOMP_SPINCOUNT, 30000000000, spin for long",
        "ONEDNN_MAX_CPU_ISA, AVX2, no newer instructions",
        "DNNL_MAX_CPU_ISA, AVX512_CORE, no newer instructions",
        "ONEDNN_CPU_ISA_HINTS, PREFER_YMM, shorter",
        "ONEDNN_DEFAULT_FPMATH_MODE, BF16, FP32 isn't FP32",
        "ONEDNN_VERBOSE, 1, prints",
        "ONEDNN_JIT_DUMP, 1, file",
        "org.bytedeco.javacpp.maxbytes, 14g, more than there is",
        "org.bytedeco.javacpp.maxbytes, 0, more than there is",
        "org.bytedeco.javacpp.maxbytes, lots, isn't a size",
        "org.bytedeco.javacpp.maxphysicalbytes, 2g, The heap alone",
        "org.bytedeco.javacpp.nopointergc, true, never freed",
    })
    void valuesThatHarmAreSaidWithTheirEffectAndWhatToDo(String name, String value, String effect) {
        Setting setting = of(name, value);
        assertEquals(value, setting.value());
        assertTrue(setting.harms(), setting.toString());
        assertTrue(setting.effect().contains(effect), setting.toString());
        assertTrue(setting.advice().endsWith("."), setting.toString());
    }

    @ParameterizedTest
    @CsvSource({
        "OMP_NUM_THREADS, 8",
        "OMP_THREAD_LIMIT, 64",
        "GOMP_SPINCOUNT, 10000",
        "OMP_PROC_BIND, close",
        "ONEDNN_MAX_CPU_ISA, ALL",
        "ONEDNN_VERBOSE, 0",
        "org.bytedeco.javacpp.maxbytes, 8g",
        "org.bytedeco.javacpp.maxbytes, 8192M",
        "org.bytedeco.javacpp.maxphysicalbytes, 12g",
    })
    void othersAreSaidWithoutWarning(String name, String value) {
        assertFalse(of(name, value).harms());
    }

    @Test
    void whereThreadsSpinForAMomentPassiveWaitingIsFine() {
        environment.put("GOMP_SPINCOUNT", "10000");
        assertFalse(of("OMP_WAIT_POLICY", "PASSIVE").harms());
    }

    @Test
    void gnusVariableIsOfNoInterestElsewhere() {
        properties.put("os.name", "Windows 11");
        environment.put("GOMP_SPINCOUNT", "INFINITY");
        assertEquals(Optional.empty(), find("GOMP_SPINCOUNT"));
        assertFalse(of("OMP_WAIT_POLICY", "PASSIVE").harms());
    }

    @Test
    void inAContainerWithFewerProcessorsTheNumberOfThreadsShouldBeSet() {
        processors = 2;
        Setting setting = find("OMP_NUM_THREADS").orElseThrow();
        assertTrue(setting.harms());
        assertEquals(null, setting.value());
        assertEquals("Set OMP_NUM_THREADS=2.", setting.advice());
    }

    @Test
    void whatIsNotSetAndNeedNotBeIsNotMentioned() {
        List<String> names = all().stream().map(Setting::name).toList();
        assertEquals(List.of("OMP_WAIT_POLICY", "org.bytedeco.javacpp.maxbytes"), names);
        assertTrue(all().stream().noneMatch(Setting::harms));
    }

    @Test
    void aHeapOfMostOfTheMemoryLeavesTooLittleForArrays() {
        heap = 12 * GIB;
        Setting setting = find("-Xmx").orElseThrow();
        assertTrue(setting.harms());
        assertEquals("12.0 GiB", setting.value());
    }

    @Test
    void withoutOwnLimitArraysTakeAsMuchAsTheHeap() {
        assertTrue(find("org.bytedeco.javacpp.maxbytes").orElseThrow().effect().contains("4.0 GiB of 16.0 GiB"));
    }

    @Test
    void theFirstOfOneDnnsTwoNamesCounts() {
        environment.put("DNNL_MAX_CPU_ISA", "AVX2");
        assertFalse(of("ONEDNN_MAX_CPU_ISA", "ALL").harms());
        assertEquals(Optional.empty(), find("DNNL_MAX_CPU_ISA"));
    }

    @Test
    void cudasVariablesMatterWhereThereIsAGpu() {
        environment.put("CUDA_LAUNCH_BLOCKING", "1");
        environment.put("CUDA_VISIBLE_DEVICES", "");
        assertEquals(Optional.empty(), find("CUDA_LAUNCH_BLOCKING"));
        gpu = true;
        assertTrue(find("CUDA_LAUNCH_BLOCKING").orElseThrow().harms());
        assertTrue(find("CUDA_VISIBLE_DEVICES").orElseThrow().effect().contains("hides all GPUs"));
        assertFalse(of("CUDA_VISIBLE_DEVICES", "1").harms());
        environment.put("CUDA_LAUNCH_BLOCKING", "0");
        assertEquals(Optional.empty(), find("CUDA_LAUNCH_BLOCKING"));
    }
}
