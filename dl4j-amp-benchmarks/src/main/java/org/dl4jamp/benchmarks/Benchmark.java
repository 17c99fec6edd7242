package org.dl4jamp.benchmarks;

import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.dl4jamp.benchmarks.dl4j.BenchmarkCase;
import org.dl4jamp.benchmarks.side.Repetition;
import org.dl4jamp.benchmarks.side.Schedule;

/**
 * Measures cases: each side's first repetition, then each side's second, and so on, so that what else the machine does, or how warm it is, is
 * shared out among the sides.
 */
final class Benchmark {
    private final SideProcess processes;
    private final List<Side> sides;
    private final int repetitions;
    private final int threads;
    private final boolean profile;
    private final PrintWriter progress;

    /**
     * @param profile whether sides record where their time goes
     * @param progress told of each repetition
     */
    Benchmark(
            SideProcess processes,
            List<Side> sides,
            int repetitions,
            int threads,
            boolean profile,
            PrintWriter progress) {
        this.processes = processes;
        this.sides = List.copyOf(sides);
        this.repetitions = repetitions;
        this.threads = threads;
        this.profile = profile;
        this.progress = progress;
    }

    /** Measures a case. A side that can't run or fails has the reason in its figures. */
    CaseFigures run(BenchmarkCase benchmark, Schedule schedule) throws IOException, InterruptedException {
        Machine machine = Machine.current();
        Map<Side, List<Repetition>> measured = new EnumMap<>(Side.class);
        Map<Side, String> unavailable = new EnumMap<>(Side.class);
        try (CaseFolder folder = CaseFolder.of(benchmark, schedule, threads, profile)) {
            for (int repetition = 1; repetition <= repetitions; repetition++) {
                for (Side side : sides) {
                    if (unavailable.containsKey(side)) {
                        continue;
                    }
                    Repetition result = processes.run(side, folder.path());
                    if (result.unavailable() == null) {
                        measured.computeIfAbsent(side, key -> new ArrayList<>()).add(result);
                    } else {
                        unavailable.put(side, result.unavailable());
                    }
                    report(benchmark, repetition, side, result);
                }
            }
        }
        Map<String, SideFigures> figures = new LinkedHashMap<>();
        for (Side side : sides) {
            figures.put(
                    side.key(),
                    unavailable.containsKey(side)
                            ? SideFigures.unavailable(unavailable.get(side))
                            : SideFigures.of(measured.get(side)));
        }
        return new CaseFigures(
                benchmark.name(),
                benchmark.description(),
                machine,
                new CaseFigures.Method(repetitions, threads, schedule, schedule.lossStep()),
                figures);
    }

    private void report(BenchmarkCase benchmark, int repetition, Side side, Repetition result) {
        progress.printf(
                Locale.ROOT,
                "%s, repetition %d of %d: %-17s %s%n",
                benchmark.name(),
                repetition,
                repetitions,
                side.key(),
                result.unavailable() == null
                        ? String.format(
                                Locale.ROOT,
                                "%9.4f ms, %d steps",
                                1e3 * Statistics.median(result.seconds()),
                                result.steps())
                        : "unavailable");
        progress.flush();
    }
}
