package org.dl4jamp.inspect.machine;

import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Linux's file {@code /proc/cpuinfo}.
 *
 * @param name the processor's name, where Linux has one
 * @param processors how many it lists
 * @param cores how many different cores these are; 0 if it doesn't say
 * @param flags the instruction sets and other features of the first processor
 */
record CpuInfo(Optional<String> name, int processors, int cores, Set<String> flags) {
    /** On x86-64, on ARM's and Power's processors that have one. */
    private static final List<String> NAMES = List.of("model name", "Model", "cpu");

    /** On x86-64 and on ARM. */
    private static final List<String> FLAGS = List.of("flags", "Features");

    /** The ones that vectors and products of matrices use, the older ones first. */
    private static final List<String> THAT_MATTER = List.of(
            "sse4_2",
            "avx",
            "f16c",
            "fma",
            "avx2",
            "avx_vnni",
            "avx512f",
            "avx512bw",
            "avx512vl",
            "avx512_vnni",
            "avx512_bf16",
            "avx512_fp16",
            "amx_tile",
            "amx_int8",
            "amx_bf16",
            "amx_fp16",
            "avx10_1",
            "avx10_2",
            "asimd",
            "asimdhp",
            "asimddp",
            "sve",
            "sve2",
            "bf16",
            "svebf16",
            "i8mm");

    private static final List<String> BFLOAT16 = List.of("avx512_bf16", "amx_bf16", "bf16", "svebf16");

    /** Reads the file's lines; no lines are a system without this file. */
    static CpuInfo parse(List<String> lines) {
        List<Map.Entry<String, String>> entries = lines.stream()
                .map(line -> line.split(":", 2))
                .filter(parts -> parts.length == 2)
                .map(parts -> Map.entry(parts[0].strip(), parts[1].strip()))
                .toList();
        int processors = (int) entries.stream()
                .filter(entry -> entry.getKey().equals("processor"))
                .count();
        return new CpuInfo(first(entries, NAMES), processors, cores(entries), flags(entries));
    }

    private static Optional<String> first(List<Map.Entry<String, String>> entries, List<String> keys) {
        return keys.stream()
                .flatMap(key -> entries.stream().filter(entry -> entry.getKey().equals(key)))
                .map(Map.Entry::getValue)
                .filter(value -> !value.isEmpty())
                .findFirst();
    }

    private static Set<String> flags(List<Map.Entry<String, String>> entries) {
        return first(entries, FLAGS).stream()
                .flatMap(flags -> Arrays.stream(flags.split("\\s+")))
                .collect(Collectors.toUnmodifiableSet());
    }

    /** A core is told from others by its own number and that of its socket, which comes first. */
    private static int cores(List<Map.Entry<String, String>> entries) {
        Set<String> cores = new HashSet<>();
        String socket = "";
        for (Map.Entry<String, String> entry : entries) {
            if (entry.getKey().equals("physical id")) {
                socket = entry.getValue();
            } else if (entry.getKey().equals("core id")) {
                cores.add(socket + "/" + entry.getValue());
            }
        }
        return cores.size();
    }

    /** Returns the instruction sets that matter for training. */
    List<String> instructionSets() {
        return THAT_MATTER.stream().filter(flags::contains).toList();
    }

    boolean multipliesBfloat16() {
        return BFLOAT16.stream().anyMatch(flags::contains);
    }
}
