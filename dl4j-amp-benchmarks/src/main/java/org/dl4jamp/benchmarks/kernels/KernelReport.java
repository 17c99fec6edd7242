package org.dl4jamp.benchmarks.kernels;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.DoubleStream;
import org.dl4jamp.benchmarks.side.Profile;
import org.dl4jamp.benchmarks.side.Statistics;

/** Collects the runs of kernels in some steps. A kernel's time is the median of its time in each step. */
public final class KernelReport {
    private final List<Map<Kernel, Runs>> steps = new ArrayList<>();
    private Map<Kernel, Runs> current = new LinkedHashMap<>();

    private record Kernel(String implementation, String name) {}

    private record Runs(int times, double seconds) {
        static final Runs NONE = new Runs(0, 0);

        Runs plus(Runs other) {
            return new Runs(times + other.times, seconds + other.seconds);
        }
    }

    /**
     * Adds a run.
     *
     * @param implementation such as {@code jit_1x1:avx2}
     * @param name what it computes, by the names of {@link KernelNames}
     */
    public void add(String implementation, String name, double seconds) {
        current.merge(new Kernel(implementation, name), new Runs(1, seconds), Runs::plus);
    }

    /** Ends a step: what is added later belongs to the next one. */
    public void endStep() {
        steps.add(current);
        current = new LinkedHashMap<>();
    }

    /** Returns the kernels of the steps that have ended. */
    public Profile profile() {
        List<Profile.Part> parts = new ArrayList<>();
        steps.stream().flatMap(step -> step.keySet().stream()).distinct().forEach(kernel -> {
            List<Runs> runs = steps.stream()
                    .map(step -> step.getOrDefault(kernel, Runs.NONE))
                    .toList();
            parts.add(new Profile.Part(
                    kernel.implementation(),
                    kernel.name(),
                    median(runs.stream().mapToDouble(Runs::seconds)),
                    median(runs.stream().mapToDouble(Runs::times))));
        });
        parts.sort(Comparator.comparingDouble(Profile.Part::secondsPerStep).reversed());
        return new Profile(
                parts.stream().mapToDouble(Profile.Part::secondsPerStep).sum(), parts);
    }

    private static double median(DoubleStream numbers) {
        return Statistics.median(numbers.boxed().toList());
    }
}
