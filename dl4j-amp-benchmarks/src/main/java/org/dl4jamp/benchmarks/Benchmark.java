package org.dl4jamp.benchmarks;

import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.dl4jamp.benchmarks.cases.BenchmarkCase;
import org.dl4jamp.benchmarks.side.Repetition;
import org.dl4jamp.benchmarks.side.Schedule;
import org.dl4jamp.benchmarks.side.Task;

/**
 * Measures cases: each side's first repetition, then each side's second, and so on. So the machine's other load and its
 * temperature affect all sides alike.
 */
final class Benchmark {
    private final SideProcess processes;
    private final List<Side> sides;
    private final int repetitions;
    private final int threads;
    private final boolean profile;
    private final boolean inference;
    private final PrintWriter progress;

    /**
     * @param profile whether sides record where their time goes
     * @param inference whether they infer, in place of training
     * @param progress called for each repetition
     */
    Benchmark(
            SideProcess processes,
            List<Side> sides,
            int repetitions,
            int threads,
            boolean profile,
            boolean inference,
            PrintWriter progress) {
        this.processes = processes;
        this.sides = List.copyOf(sides);
        this.repetitions = repetitions;
        this.threads = threads;
        this.profile = profile;
        this.inference = inference;
        this.progress = progress;
    }

    /** Measures a case. A side that can't run or fails has the reason in its figures. */
    CaseFigures run(BenchmarkCase benchmark, Schedule schedule) throws IOException, InterruptedException {
        Machine machine = Machine.current();
        Task task = inference ? benchmark.inference() : Task.TRAINING;
        Map<Side, List<Repetition>> measured = new EnumMap<>(Side.class);
        Map<Side, String> unavailable = new EnumMap<>(Side.class);
        try (CaseFolder folder = CaseFolder.of(benchmark, task, schedule, threads, profile)) {
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
                    report(benchmark, task, repetition, side, result);
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
                benchmark.description() + (inference ? "" : ", " + benchmark.updater()),
                machine,
                CaseFigures.Method.of(repetitions, threads, task, benchmark.minibatch(), schedule),
                figures);
    }

    private void report(BenchmarkCase benchmark, Task task, int repetition, Side side, Repetition result) {
        progress.printf(
                Locale.ROOT,
                "%s, repetition %d of %d: %-20s %s%n",
                benchmark.name(),
                repetition,
                repetitions,
                side.key(),
                result.unavailable() == null
                        ? String.format(
                                Locale.ROOT,
                                "%9.4f ms, %d %s",
                                1e3 * Statistics.median(result.seconds()),
                                result.steps(),
                                task.isInference() ? "passes" : "steps")
                        : "unavailable");
        progress.flush();
    }
}
