package org.dl4jamp.inspect.settings;

import static org.dl4jamp.inspect.settings.Setting.Kind.ENVIRONMENT;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Stream;

/** Settings of OpenMP, whose threads compute ND4J's operations and oneDNN's. */
final class ThreadSettings {
    private static final String THREADS = "OMP_NUM_THREADS";
    private static final String WAIT = "OMP_WAIT_POLICY";
    private static final String SPIN = "GOMP_SPINCOUNT";
    private static final String TAKE_BOTH = "Set " + WAIT + "=PASSIVE and " + SPIN + "=10000, as ./amp does.";

    /** Spinning for longer than this is waiting actively. */
    private static final long LONG_SPIN = 10_000_000;

    private ThreadSettings() {}

    static List<Setting> of(Surroundings here) {
        return Stream.of(
                        threads(here),
                        limit(here, "OMP_THREAD_LIMIT", "OpenMP"),
                        limit(here, "SD_MAX_THREADS", "an operation of ND4J's own"),
                        waiting(here),
                        spinning(here),
                        binding(here))
                .flatMap(Optional::stream)
                .toList();
    }

    private static Optional<Setting> threads(Surroundings here) {
        Optional<String> value = here.variable(THREADS);
        if (value.isEmpty()) {
            return here.machineProcessors() > here.processors()
                    ? Optional.of(Setting.harmful(
                            ENVIRONMENT,
                            THREADS,
                            null,
                            "ND4J starts " + here.machineProcessors() + " threads, one for each processor of the"
                                    + " machine, and this process may use " + here.processors()
                                    + ": stock DL4J's threads wait for each other.",
                            "Set " + THREADS + "=" + here.processors() + "."))
                    : Optional.empty();
        }
        return Optional.of(threads(here, value.get()));
    }

    private static Setting threads(Surroundings here, String value) {
        OptionalInt threads = positive(value);
        if (threads.isEmpty()) {
            return Setting.harmful(
                    ENVIRONMENT,
                    THREADS,
                    value,
                    "It isn't one positive number, as ND4J expects, and ND4J may not start: OpenMP's lists are unknown"
                            + " to it.",
                    "Set it to " + here.processors() + ", or unset it.");
        }
        int number = threads.getAsInt();
        if (number > here.processors()) {
            return Setting.harmful(
                    ENVIRONMENT,
                    THREADS,
                    value,
                    "More threads than processors: they wait for each other.",
                    "Set it to " + here.processors() + ", or unset it.");
        }
        return number < here.processors()
                ? Setting.harmful(
                        ENVIRONMENT,
                        THREADS,
                        value,
                        "Only " + number + " of " + here.processors() + " processors compute a network.",
                        "Unset it, unless other replicas or programs take the rest.")
                : Setting.fine(ENVIRONMENT, THREADS, value, "A thread for each processor.");
    }

    private static Optional<Setting> limit(Surroundings here, String name, String what) {
        return here.variable(name).map(value -> {
            OptionalInt threads = positive(value);
            return threads.isPresent() && threads.getAsInt() < here.processors()
                    ? Setting.harmful(
                            ENVIRONMENT,
                            name,
                            value,
                            what + " takes at most " + value + " of " + here.processors() + " processors.",
                            "Unset it.")
                    : Setting.fine(ENVIRONMENT, name, value, "At least as many as there are processors.");
        });
    }

    private static Optional<Setting> waiting(Surroundings here) {
        Optional<String> value = here.variable(WAIT);
        if (value.isEmpty()) {
            return Optional.of(Setting.fine(
                            ENVIRONMENT,
                            WAIT,
                            null,
                            "Threads spin while they wait. Where other programs use the processors, too, each step"
                                    + " takes several times as long.")
                    .withAdvice(TAKE_BOTH));
        }
        if (value.get().toUpperCase(Locale.ROOT).equals("ACTIVE")) {
            return Optional.of(Setting.harmful(
                    ENVIRONMENT,
                    WAIT,
                    value.get(),
                    "Threads spin for as long as they wait. Where other programs use the processors, too, each step"
                            + " takes several times as long.",
                    TAKE_BOTH));
        }
        boolean sleepsAtOnce = here.isLinux() && here.variable(SPIN).isEmpty();
        return Optional.of(
                sleepsAtOnce
                        ? Setting.harmful(
                                ENVIRONMENT,
                                WAIT,
                                value.get(),
                                "Threads sleep at once when they wait: recurrent layers wait for them to wake up.",
                                "Set " + SPIN + "=10000, too, as ./amp does.")
                        : Setting.fine(
                                ENVIRONMENT,
                                WAIT,
                                value.get(),
                                "Threads that wait don't take processors from other programs. ./amp sets this; set it"
                                        + " for your own programs, too."));
    }

    private static Optional<Setting> spinning(Surroundings here) {
        return here.variable(SPIN).filter(value -> here.isLinux()).map(value -> {
            boolean isLong = value.toUpperCase(Locale.ROOT).startsWith("INF")
                    || (value.matches("\\d{1,18}") && Long.parseLong(value) > LONG_SPIN);
            return isLong
                    ? Setting.harmful(
                            ENVIRONMENT,
                            SPIN,
                            value,
                            "Threads spin for long while they wait, and take processors from other programs.",
                            "Set it to 10000.")
                    : Setting.fine(
                            ENVIRONMENT,
                            SPIN,
                            value,
                            "Threads spin for a short time before they sleep, in GNU's OpenMP.");
        });
    }

    private static Optional<Setting> binding(Surroundings here) {
        return here.variable("OMP_PROC_BIND")
                .filter(value -> !value.toLowerCase(Locale.ROOT).equals("false"))
                .map(value -> Setting.fine(
                        ENVIRONMENT,
                        "OMP_PROC_BIND",
                        value,
                        "Threads stay on their processors: a second process, or replica, gets the same ones."));
    }

    private static OptionalInt positive(String value) {
        String digits = value.strip();
        return digits.matches("[1-9]\\d{0,5}") ? OptionalInt.of(Integer.parseInt(digits)) : OptionalInt.empty();
    }
}
