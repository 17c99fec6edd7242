package org.dl4jamp.onednn.primitive;

import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.bytedeco.dnnl.dnnl_version_t;
import org.bytedeco.dnnl.engine;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.javacpp.Loader;
import org.nd4j.linalg.api.buffer.DataType;

/** oneDNN's native library, loaded at the first use of this class. */
public final class OneDnnLibrary {
    /** Begins the names of oneDNN's constants for instruction sets. */
    private static final String ISA = "dnnl_cpu_isa_";

    private OneDnnLibrary() {}

    /** Returns why the library can't be used in this process; empty if it can. */
    public static Optional<String> failure() {
        return Attempt.FAILURE;
    }

    /** Returns oneDNN's engine for the CPU; only to be called if there is no {@link #failure}. */
    static engine cpu() {
        return Cpu.ENGINE;
    }

    /** A CPU's support of BFLOAT16. */
    public enum Bfloat16 {
        /** With instructions for products of BFLOAT16 numbers: AVX512_BF16 and AMX. */
        NATIVE,
        /** By way of FP32. */
        EMULATED,
        /** Not at all. */
        NONE
    }

    /** Returns how well this CPU computes BFLOAT16; not at all if there is a {@link #failure}. */
    public static Bfloat16 bfloat16() {
        if (failure().isPresent()) {
            return Bfloat16.NONE;
        }
        return switch (dnnl.dnnl_get_effective_cpu_isa()) {
            case dnnl.dnnl_cpu_isa_avx512_core_bf16,
                    dnnl.dnnl_cpu_isa_avx512_core_fp16,
                    dnnl.dnnl_cpu_isa_avx512_core_amx,
                    dnnl.dnnl_cpu_isa_avx512_core_amx_fp16,
                    dnnl.dnnl_cpu_isa_avx10_2_512,
                    dnnl.dnnl_cpu_isa_avx10_2_512_amx_2 -> Bfloat16.NATIVE;
            case dnnl.dnnl_cpu_isa_avx512_core, dnnl.dnnl_cpu_isa_avx512_core_vnni -> Bfloat16.EMULATED;
            default -> Bfloat16.NONE;
        };
    }

    /** Returns whether this CPU multiplies numbers of a type, FP32 or BFLOAT16, without a detour. */
    public static boolean hasFast(DataType type) {
        return type == DataType.FLOAT || bfloat16() == Bfloat16.NATIVE;
    }

    /** Returns whether this CPU has AVX2 or newer instructions; false if there is a {@link #failure}. */
    public static boolean hasAvx2() {
        return has(dnnl.dnnl_cpu_isa_avx2);
    }

    /** Returns whether this CPU has AVX2, and no AVX-512; false if there is a {@link #failure}. */
    public static boolean isAvx2() {
        return hasAvx2() && !hasAvx512();
    }

    /** Returns whether this CPU has AVX-512; false if there is a {@link #failure}. */
    public static boolean hasAvx512() {
        return has(dnnl.dnnl_cpu_isa_avx512_core);
    }

    private static boolean has(int instructions) {
        return failure().isEmpty() && (dnnl.dnnl_get_effective_cpu_isa() & instructions) == instructions;
    }

    /**
     * Returns the library's version, the instructions that it uses and its support of BFLOAT16; only to be called if
     * there is no {@link #failure}.
     */
    public static Map<String, String> facts() {
        Map<String, String> facts = new LinkedHashMap<>();
        dnnl_version_t version = dnnl.dnnl_version();
        facts.put("oneDNN", version.major() + "." + version.minor() + "." + version.patch());
        facts.put("instruction set", instructionSet());
        facts.put("BFLOAT16", bfloat16().toString().toLowerCase(Locale.ROOT));
        return Collections.unmodifiableMap(facts);
    }

    /** Returns the instructions that oneDNN uses, by the name that {@code ONEDNN_MAX_CPU_ISA} has for them. */
    public static String instructionSet() {
        int level = dnnl.dnnl_get_effective_cpu_isa();
        return Arrays.stream(dnnl.class.getFields())
                .filter(field -> field.getName().startsWith(ISA) && field.getType() == int.class)
                .filter(field -> value(field) == level)
                .map(field -> field.getName().substring(ISA.length()).toUpperCase(Locale.ROOT))
                .findFirst()
                .orElseGet(() -> "unknown (" + Integer.toHexString(level) + ")");
    }

    private static int value(Field constant) {
        try {
            return constant.getInt(null);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    private static final class Attempt {
        static final Optional<String> FAILURE = load();

        private static Optional<String> load() {
            ClassPathNeeds needs = new ClassPathNeeds();
            Optional<String> older = needs.olderJavaCpp();
            if (older.isPresent()) {
                return older;
            }
            try {
                Loader.load(dnnl.class);
                return Cpu.ENGINE.isNull() ? Optional.of("oneDNN finds no CPU") : Optional.empty();
            } catch (LinkageError | RuntimeException e) {
                // A missing class is an error of linking, a library that fails to set itself up may be either.
                return Optional.of(needs.missing(e));
            }
        }
    }

    private static final class Cpu {
        static final engine ENGINE = new engine(engine.kind.cpu, 0);
    }
}
