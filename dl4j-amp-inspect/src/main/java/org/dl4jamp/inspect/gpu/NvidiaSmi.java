package org.dl4jamp.inspect.gpu;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.dl4jamp.inspect.gpu.ExternalCommand.Outcome;
import org.dl4jamp.inspect.gpu.ExternalCommand.Result;

/** Asks NVIDIA's driver for the GPUs of this machine, through the program that comes with it. */
final class NvidiaSmi {
    private static final String PROGRAM = "nvidia-smi";
    private static final Duration LIMIT = Duration.ofSeconds(10);
    private static final String CAPABILITY = "compute_cap";
    private static final Pattern MEBIBYTES = Pattern.compile("(\\d{1,12}) MiB");

    private final ExternalCommand commands;

    NvidiaSmi(ExternalCommand commands) {
        this.commands = commands;
    }

    /** The GPUs, or the reason for which there are none. */
    record Answer(List<Gpu> gpus, Optional<String> missing) {}

    Answer ask() {
        Result result = query("name", CAPABILITY, "driver_version", "memory.total");
        boolean withCapability = !isUnknownField(result);
        if (!withCapability) {
            // Drivers before 510 don't have this field.
            result = query("name", "driver_version", "memory.total");
        }
        if (result.outcome() != Outcome.ENDED || result.exitCode() != 0) {
            return new Answer(List.of(), Optional.of(reason(result)));
        }
        List<Gpu> gpus = new ArrayList<>();
        for (String line : result.lines()) {
            gpus.add(parse(line, withCapability));
        }
        return new Answer(
                gpus, gpus.isEmpty() ? Optional.of("NVIDIA's driver is there, and finds no GPU") : Optional.empty());
    }

    private Result query(String... fields) {
        return commands.run(
                List.of(PROGRAM, "--query-gpu=" + String.join(",", fields), "--format=csv,noheader"), LIMIT);
    }

    private static boolean isUnknownField(Result result) {
        return result.outcome() == Outcome.ENDED
                && result.exitCode() != 0
                && result.lines().stream().anyMatch(line -> line.contains(CAPABILITY));
    }

    private static String reason(Result result) {
        return switch (result.outcome()) {
            case ABSENT -> "no NVIDIA driver found: the program nvidia-smi, which comes with it, isn't there";
            case STOPPED -> "nvidia-smi didn't answer within " + LIMIT.toSeconds() + " s";
            case ENDED ->
                "nvidia-smi failed with exit code " + result.exitCode()
                        + result.lines().stream()
                                .findFirst()
                                .map(line -> ": " + line)
                                .orElse("");
        };
    }

    /** Reads a line such as {@code NVIDIA H100 80GB HBM3, 9.0, 535.129.03, 81559 MiB}. */
    private static Gpu parse(String line, boolean withCapability) {
        String[] fields = line.split(",\\s*", -1);
        int expected = withCapability ? 4 : 3;
        if (fields.length != expected) {
            return Gpu.of(line, Optional.empty(), null, null);
        }
        return Gpu.of(
                fields[0],
                withCapability ? ComputeCapability.parse(fields[1]) : Optional.empty(),
                fields[expected - 2],
                bytes(fields[expected - 1]));
    }

    private static Long bytes(String memory) {
        Matcher matcher = MEBIBYTES.matcher(memory);
        return matcher.matches() ? Long.parseLong(matcher.group(1)) << 20 : null;
    }
}
