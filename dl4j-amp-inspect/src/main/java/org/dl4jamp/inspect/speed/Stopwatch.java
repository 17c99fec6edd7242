package org.dl4jamp.inspect.speed;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.dl4jamp.inspect.speed.Task.Size;
import org.dl4jamp.precision.AmpException;

/** Measures one kind of network on all sides, within a time. */
final class Stopwatch {
    /** The part of the time in which Java's compiler gets to work. */
    private static final double COMPILING = 0.2;

    /** Stock DL4J's part of that, relative to the sides'. */
    private static final double STOCKS_PART_OF_COMPILING = 3;

    private static final int COMPILER_WINDOWS = 4;

    /** The first one loads classes. */
    private static final int LEAST_TINY_STEPS = 3;

    /** The part of a side's time in which it may be waited for Java's compiler. */
    private static final double WAITING = 0.8;

    /** The number of stock DL4J's steps that have to fit into the rest of the time. */
    private static final int LEAST_STEPS = 2;

    /** The first step with a batch allocates. */
    private static final int WARM_UP_STEPS = 2;

    /** The part of a side's time for steps before the measured ones. */
    private static final double WARM_UP = 0.3;

    /** Java's compiler and other programs only ever make a step longer: the faster half of the steps counts. */
    private static final double QUARTILE = 0.25;

    /** More of them wouldn't change the figures. */
    private static final int MOST_ROUNDS = 25;

    private final LongSupplier nanoTime;
    private final BiFunction<Task, Side, Trainee> trainees;
    private final BooleanSupplier othersRest;

    /**
     * @param nanoTime a clock
     * @param trainees begins training
     * @param othersRest waits for a moment, and tells whether other threads of the process did, too
     */
    Stopwatch(LongSupplier nanoTime, BiFunction<Task, Side, Trainee> trainees, BooleanSupplier othersRest) {
        this.nanoTime = nanoTime;
        this.trainees = trainees;
        this.othersRest = othersRest;
    }

    /**
     * Measures. The steps of AUTO's side take turns with stock DL4J's, so that a slow minute of the machine slows both.
     *
     * @param seconds the time; on a slow machine a few steps end after it
     */
    WorkloadSpeed measure(Workload workload, List<Side> sides, double seconds) {
        double end = now() + seconds;
        compile(workload.tiny(), sides, COMPILING * seconds);
        List<SideTimes> times = new ArrayList<>();
        List<Double> stock = new ArrayList<>();
        try (Trainee reference = trainees.apply(workload.measured(), Side.STOCK)) {
            Size size = size(workload.measured(), reference, end);
            reference.step(size);
            double parts = sides.stream().mapToDouble(Stopwatch::part).sum();
            for (Side side : sides) {
                double time = (end - now()) * part(side) / parts;
                parts -= part(side);
                times.add(measure(workload.measured(), size, side, reference, stock, time));
            }
            if (stock.isEmpty()) {
                time(reference, size, stock);
            }
            return speed(workload, size, stock, times);
        }
    }

    /** Returns the largest size of which enough steps fit into the time, or the smallest one. */
    private Size size(Task task, Trainee reference, double end) {
        Size smallest = task.smallest();
        List<Double> steps = new ArrayList<>();
        for (int i = 0; i < WARM_UP_STEPS; i++) {
            time(reference, smallest, steps);
        }
        double perWork = steps.get(steps.size() - 1) / smallest.work();
        double seconds = end - now();
        return task.sizes().stream()
                .filter(size -> LEAST_STEPS * size.work() * perWork <= seconds)
                .findFirst()
                .orElse(smallest);
    }

    /** AUTO's side is what the prediction is about. */
    private static double part(Side side) {
        return side.automatic() ? 4 : 1;
    }

    /** The steps of a side in seconds, or why there are none. */
    private record SideTimes(Side side, List<Double> steps, String unmeasured) {}

    private SideTimes measure(Task task, Size size, Side side, Trainee reference, List<Double> stock, double share) {
        double end = now() + share;
        // Without the side of AUTO there would be no prediction: it takes a few steps longer then.
        if (share <= 0 && !side.automatic()) {
            return new SideTimes(side, List.of(), "the time was over");
        }
        List<Double> steps = new ArrayList<>();
        try (Trainee trainee = trainees.apply(task, side)) {
            double round = warmUp(trainee, size, share);
            if (now() + round > end && !side.automatic()) {
                return new SideTimes(side, List.of(round), null);
            }
            double waitUntil = now() + WAITING * share;
            int rounds = 0;
            do {
                rounds++;
                double begin = now();
                double stockStep = 0;
                if (side.automatic()) {
                    waitForCompiler(waitUntil);
                    stockStep = time(reference, size, stock);
                }
                double slice = 0;
                do {
                    waitForCompiler(waitUntil);
                    slice += time(trainee, size, steps);
                } while (slice < stockStep / 2);
                round = now() - begin;
            } while (rounds < MOST_ROUNDS && now() + round < end);
            return new SideTimes(side, steps, null);
        } catch (AmpException | OutOfMemoryError e) {
            return new SideTimes(side, List.of(), String.valueOf(e.getMessage()));
        }
    }

    /** Trains tiny networks until Java's compiler has little left to do. */
    private void compile(Task tiny, List<Side> sides, double seconds) {
        double parts = STOCKS_PART_OF_COMPILING
                + sides.stream().mapToDouble(Stopwatch::part).sum();
        compile(tiny, Side.STOCK, seconds * STOCKS_PART_OF_COMPILING / parts);
        sides.forEach(side -> compile(tiny, side, seconds * part(side) / parts));
    }

    private void compile(Task tiny, Side side, double seconds) {
        double end = now() + seconds;
        double window = seconds / COMPILER_WINDOWS;
        try (Trainee trainee = trainees.apply(tiny, side)) {
            do {
                double begin = now();
                int steps = 0;
                do {
                    trainee.step(tiny.smallest());
                    steps++;
                } while (steps < LEAST_TINY_STEPS || now() < begin + window);
            } while (now() < end && !othersRest.getAsBoolean());
        } catch (AmpException e) {
            // The same happens with the network that is measured, and is reported there.
            return;
        }
    }

    /** Trains a few full steps, as many as fit into a part of a share; returns the seconds of the last one. */
    private double warmUp(Trainee trainee, Size size, double share) {
        double end = now() + WARM_UP * share;
        List<Double> steps = new ArrayList<>();
        do {
            time(trainee, size, steps);
        } while (steps.size() < WARM_UP_STEPS && now() < end);
        return steps.get(steps.size() - 1);
    }

    private double time(Trainee trainee, Size size, List<Double> into) {
        double begin = now();
        trainee.step(size);
        double seconds = now() - begin;
        into.add(seconds);
        return seconds;
    }

    /** Waits until Java's compiler has nothing to do, but not longer than to a time. */
    private void waitForCompiler(double until) {
        boolean waits = now() < until;
        while (waits) {
            waits = !othersRest.getAsBoolean() && now() < until;
        }
    }

    private double now() {
        return nanoTime.getAsLong() / 1e9;
    }

    private static WorkloadSpeed speed(Workload workload, Size size, List<Double> stock, List<SideTimes> times) {
        double reference = typical(stock);
        List<SideSpeed> speeds = times.stream()
                .map(each -> each.unmeasured() == null
                        ? SideSpeed.measured(
                                each.side(), typical(each.steps()), each.steps().size(), reference)
                        : SideSpeed.unmeasured(each.side(), each.unmeasured()))
                .toList();
        Double prediction = times.stream().noneMatch(each -> each.side().automatic())
                ? Double.valueOf(1)
                : speeds.stream()
                        .filter(SideSpeed::automatic)
                        .findFirst()
                        .map(SideSpeed::timesFaster)
                        .orElse(null);
        return new WorkloadSpeed(
                workload.key(),
                workload.kind(),
                size.description(),
                SideSpeed.measured(Side.STOCK, reference, stock.size(), reference),
                speeds,
                prediction);
    }

    /** Returns the lower quartile, which is the median of the faster half. */
    static double typical(List<Double> steps) {
        double[] sorted =
                steps.stream().mapToDouble(Double::doubleValue).sorted().toArray();
        double place = QUARTILE * (sorted.length - 1);
        int below = (int) place;
        int above = Math.min(below + 1, sorted.length - 1);
        return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
    }
}
