package org.dl4jamp.inspect.settings;

import static org.dl4jamp.inspect.settings.Setting.Kind.ENVIRONMENT;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/** Environment variables of oneDNN. Each has two names, of which the first counts. */
final class OneDnnSettings {
    private static final List<String> PREFIXES = List.of("ONEDNN_", "DNNL_");

    private OneDnnSettings() {}

    /** Values that leave oneDNN as it is, and the effect and the advice for all others. */
    private record Rule(String name, Set<String> harmless, String effect, String advice) {
        Optional<Setting> in(Surroundings here) {
            return PREFIXES.stream()
                    .map(prefix -> prefix + name)
                    .filter(full -> here.variable(full).isPresent())
                    .findFirst()
                    .map(full -> of(full, here.variable(full).orElseThrow()));
        }

        private Setting of(String fullName, String value) {
            return harmless.contains(value.toUpperCase(Locale.ROOT))
                    ? Setting.fine(ENVIRONMENT, fullName, value, "As if it wasn't set.")
                    : Setting.harmful(ENVIRONMENT, fullName, value, effect, advice);
        }
    }

    private static final List<Rule> RULES = List.of(
            new Rule(
                    "MAX_CPU_ISA",
                    Set.of("ALL", "DEFAULT"),
                    "oneDNN uses no newer instructions than these. Without those of BFLOAT16, AUTO takes FP32.",
                    "Unset it, unless you want to see what an older CPU does."),
            new Rule(
                    "CPU_ISA_HINTS",
                    Set.of("NO_HINTS"),
                    "oneDNN uses the shorter ones of this CPU's vectors, which is slower on most.",
                    "Unset it."),
            new Rule(
                    "DEFAULT_FPMATH_MODE",
                    Set.of("STRICT"),
                    "oneDNN rounds the factors of FP32 products: FP32 isn't FP32 then.",
                    "Unset it, and choose BFLOAT16 in dl4j-amp's settings."),
            new Rule(
                    "VERBOSE",
                    Set.of("0", "NONE", "ERROR"),
                    "oneDNN prints a line for what it makes or runs, which takes time.",
                    "Unset it when you measure."),
            new Rule(
                    "JIT_DUMP",
                    Set.of("0"),
                    "oneDNN writes each kernel into a file in the working folder.",
                    "Unset it."));

    static List<Setting> of(Surroundings here) {
        return RULES.stream()
                .map(rule -> rule.in(here))
                .flatMap(Optional::stream)
                .toList();
    }
}
