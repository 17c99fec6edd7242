package org.dl4jamp.benchmarks;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.dl4jamp.benchmarks.cases.BenchmarkCase;
import org.dl4jamp.benchmarks.process.Side;
import org.dl4jamp.benchmarks.process.SideProcesses;
import org.dl4jamp.benchmarks.side.Records;
import org.dl4jamp.benchmarks.side.Repetition;
import org.dl4jamp.benchmarks.side.Schedule;
import org.dl4jamp.benchmarks.side.Statistics;
import org.dl4jamp.benchmarks.side.Task;

/**
 * Measures cases: each side's first repetition, then each side's second, and so on. So the machine's other load and its
 * temperature affect all sides alike. With several turns, the sides of a repetition are measured by turns.
 */
final class Benchmark {
    /** Tries of a repetition that others disturb. */
    private static final int TRIES = 3;

    private final SideProcesses processes;
    private final List<Side> sides;
    private final int repetitions;
    private final int threads;
    private final Records records;
    private final boolean inference;
    private final PrintWriter progress;
    private final double mostOtherLoad;

    /**
     * @param records what sides record beside the time of a step
     * @param inference whether they infer, in place of training
     * @param mostOtherLoad the share of the processors' time, taken by others, from which on a repetition is repeated
     * @param progress called for each repetition
     */
    Benchmark(
            SideProcesses processes,
            List<Side> sides,
            int repetitions,
            int threads,
            Records records,
            boolean inference,
            double mostOtherLoad,
            PrintWriter progress) {
        this.processes = processes;
        this.sides = List.copyOf(sides);
        this.repetitions = repetitions;
        this.threads = threads;
        this.records = records;
        this.inference = inference;
        this.mostOtherLoad = mostOtherLoad;
        this.progress = progress;
    }

    /** Measures a case. A side that can't run or fails has the reason in its figures. */
    CaseFigures run(BenchmarkCase benchmark, Schedule schedule) throws IOException, InterruptedException {
        Machine machine = Machine.current();
        Task task = inference ? benchmark.inference() : Task.TRAINING;
        Map<Side, List<Repetition>> measured = new EnumMap<>(Side.class);
        Map<Side, String> unavailable = new EnumMap<>(Side.class);
        try (CaseFolder folder = CaseFolder.of(benchmark, task, schedule, threads, records)) {
            for (int repetition = 1; repetition <= repetitions; repetition++) {
                for (List<Side> together : groups(unavailable.keySet(), schedule.turns())) {
                    Map<Side, Repetition> results = leastDisturbed(together, folder.path(), schedule.turns());
                    for (Side side : together) {
                        Repetition result = results.get(side);
                        if (result.unavailable() == null) {
                            measured.computeIfAbsent(side, key -> new ArrayList<>())
                                    .add(result);
                        } else {
                            unavailable.put(side, result.unavailable());
                        }
                        report(benchmark, task, repetition, side, result);
                    }
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

    /** Returns the sides whose processes run at once: all that are able, or each alone. */
    private List<List<Side>> groups(Set<Side> unable, int turns) {
        List<Side> able = sides.stream().filter(side -> !unable.contains(side)).toList();
        return turns > 1 ? List.of(able) : able.stream().map(List::of).toList();
    }

    /** Runs a repetition of some sides, and if others disturbed it, again. */
    private Map<Side, Repetition> leastDisturbed(List<Side> together, Path folder, int turns)
            throws IOException, InterruptedException {
        Map<Side, Repetition> best = processes.run(together, folder, turns);
        for (int tries = 1; tries < TRIES && otherLoad(best) > mostOtherLoad; tries++) {
            progress.printf(
                    Locale.ROOT,
                    "%s: others took %.0f %% of the processors' time; once more%n",
                    together.stream().map(Side::key).collect(Collectors.joining(", ")),
                    100 * otherLoad(best));
            progress.flush();
            Map<Side, Repetition> again = processes.run(together, folder, turns);
            best = isWhole(again) && otherLoad(again) > otherLoad(best) ? best : again;
        }
        return best;
    }

    private static boolean isWhole(Map<Side, Repetition> results) {
        return results.values().stream().allMatch(each -> each.unavailable() == null);
    }

    /** Returns the largest of some sides. */
    private static double otherLoad(Map<Side, Repetition> results) {
        return results.values().stream()
                .map(Repetition::otherLoad)
                .filter(Objects::nonNull)
                .mapToDouble(load -> load)
                .max()
                .orElse(0);
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
