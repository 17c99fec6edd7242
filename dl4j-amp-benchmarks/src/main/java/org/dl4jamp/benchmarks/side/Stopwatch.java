package org.dl4jamp.benchmarks.side;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.function.LongSupplier;

/** Runs one repetition of a side in this process. */
public final class Stopwatch {
    /** The line that it prints after each step whose kernels are recorded. */
    public static final String STEP = "amp bench: a recorded step";

    /** Steps alone and recorded ones take turns so often in a schedule. */
    private static final int TURNS = 10;

    /** Readings of HotSpot's compilation time in the shortest warm-up. */
    private static final int WINDOWS = 5;

    /** Steps shorter than this share a reading of the clock: reading and storing it take time, too. */
    private static final double SHORTEST_READING = 1e-3;

    private final LongSupplier nanoTime;
    private final Records records;
    private final Turns turns;

    /** @param nanoTime a clock, in nanoseconds */
    Stopwatch(LongSupplier nanoTime) {
        this(nanoTime, Records.NOTHING, Turns.ALONE);
    }

    /**
     * @param records what to record of the measured steps
     * @param turns in which it measures
     */
    public Stopwatch(Records records, Turns turns) {
        this(System::nanoTime, records, turns);
    }

    private Stopwatch(LongSupplier nanoTime, Records records, Turns turns) {
        this.nanoTime = nanoTime;
        this.records = records;
        this.turns = turns;
    }

    /**
     * The measured steps.
     *
     * @param secondsPerStep by each reading
     * @param steps number of steps
     * @param seconds time of all steps
     */
    private record Steps(List<Double> secondsPerStep, int steps, double seconds) {}

    /** The measured steps, the load of others meanwhile, and where the time went, null if it wasn't recorded. */
    private record Measured(Steps steps, OptionalDouble otherLoad, Profile profile) {
        Measured with(Profile recorded) {
            return new Measured(steps, otherLoad, recorded);
        }
    }

    /** Trains for the length of a schedule. */
    public Repetition run(Training training, Schedule schedule) throws IOException {
        Losses losses = new Losses(schedule.lossStep());
        Measured measured = measure(training, () -> losses.add(training.step()), schedule);
        return repetition(training, measured, losses, null);
    }

    /**
     * Infers for the length of a schedule.
     *
     * @param expected the expected outputs, in the order of {@link Inference#outputs}
     */
    public Repetition run(Inference inference, Schedule schedule, float[] expected) throws IOException {
        Measured measured = measure(inference, inference::pass, schedule);
        return repetition(inference, measured, null, OutputDifference.of(expected, inference.outputs()));
    }

    private Measured measure(Workload workload, Runnable step, Schedule schedule) throws IOException {
        return switch (records) {
            case NOTHING -> {
                warmUp(step, schedule);
                yield measure(step, schedule);
            }
            case WORK -> recordWork(step, schedule);
            case KERNELS -> recordKernels(workload, step, schedule);
        };
    }

    private Measured measure(Runnable step, Schedule schedule) throws IOException {
        List<Double> readings = new ArrayList<>();
        int steps = 0;
        double seconds = 0;
        double others = 0;
        for (int turn = 1; turn <= schedule.turns(); turn++) {
            turns.begin();
            OtherLoad load = OtherLoad.begin();
            Steps made = repeat(step, schedule.stepsOfTurn(), schedule.secondsOfTurn());
            OptionalDouble share = load.share();
            if (turn < schedule.turns()) {
                turns.end();
            }
            readings.addAll(made.secondsPerStep());
            steps += made.steps();
            seconds += made.seconds();
            others += share.orElse(Double.NaN) / schedule.turns();
        }
        OptionalDouble otherLoad = Double.isNaN(others) ? OptionalDouble.empty() : OptionalDouble.of(others);
        return new Measured(new Steps(readings, steps, seconds), otherLoad, null);
    }

    private Measured recordWork(Runnable step, Schedule schedule) throws IOException {
        try (FlightRecording recording = new FlightRecording()) {
            warmUp(step, schedule);
            recording.begin();
            Measured measured = measure(step, schedule);
            Steps steps = measured.steps();
            return measured.with(recording.stop(steps.steps(), steps.seconds()));
        }
    }

    /**
     * Steps alone, whose time counts, and recorded ones take turns: a host's speed may change from second to second.
     */
    private Measured recordKernels(Workload workload, Runnable step, Schedule schedule) throws IOException {
        warmUp(step, schedule);
        turns.begin();
        OtherLoad load = OtherLoad.begin();
        List<Double> readings = new ArrayList<>();
        int steps = 0;
        double sum = 0;
        while (steps < schedule.steps() || sum < schedule.seconds()) {
            Steps alone = repeat(step, 1, schedule.seconds() / TURNS);
            readings.addAll(alone.secondsPerStep());
            steps += alone.steps();
            sum += alone.seconds();
            workload.recordKernels(true);
            for (int recorded = 0; recorded < alone.steps(); recorded++) {
                step.run();
                System.out.println(STEP);
            }
            workload.recordKernels(false);
        }
        Profile kernels = workload.kernels(steps).orElse(null);
        return new Measured(new Steps(readings, steps, sum), load.share(), kernels);
    }

    /**
     * Runs steps until HotSpot is idle: a network of many layers keeps it busy for a minute, at the cost of the native
     * libraries' threads.
     */
    private void warmUp(Runnable step, Schedule schedule) {
        long begin = nanoTime.getAsLong();
        repeat(step, schedule.warmUpSteps(), schedule.warmUpSeconds());
        CompilerShare compiler = new CompilerShare(nanoTime, CompilerShare::millisOfThisProcess);
        while (secondsSince(begin) < schedule.warmUpSeconds() * Schedule.PATIENCE) {
            repeat(step, 1, schedule.warmUpSeconds() / WINDOWS);
            if (compiler.sinceLast() < CompilerShare.LOW) {
                return;
            }
        }
    }

    private static Repetition repetition(Workload workload, Measured measured, Losses losses, Double difference)
            throws IOException {
        OptionalLong activations = workload.activationBytes();
        OptionalLong peak = PeakMemory.ofThisProcess();
        return new Repetition(
                measured.steps().secondsPerStep(),
                measured.steps().steps(),
                losses == null ? null : losses.first,
                losses == null ? null : losses.agreed,
                difference,
                peak.isPresent() ? peak.getAsLong() : null,
                activations.isPresent() ? activations.getAsLong() : null,
                measured.otherLoad().isPresent() ? measured.otherLoad().getAsDouble() : null,
                workload.chosen().orElse(null),
                measured.profile(),
                null);
    }

    private Steps repeat(Runnable step, int steps, double seconds) {
        List<Double> readings = new ArrayList<>();
        int made = 0;
        double sum = 0;
        while (made < steps || sum < seconds) {
            int together = 0;
            double reading;
            long start = nanoTime.getAsLong();
            do {
                step.run();
                together++;
                reading = secondsSince(start);
            } while (reading < SHORTEST_READING && (made + together < steps || sum + reading < seconds));
            readings.add(reading / together);
            made += together;
            sum += reading;
        }
        return new Steps(readings, made, sum);
    }

    private double secondsSince(long start) {
        return (nanoTime.getAsLong() - start) / 1e9;
    }

    private static final class Losses {
        private final int agreedStep;
        private int steps;
        private double first = Double.NaN;
        private double agreed = Double.NaN;

        Losses(int agreedStep) {
            this.agreedStep = agreedStep;
        }

        void add(double loss) {
            steps++;
            if (steps == 1) {
                first = loss;
            }
            if (steps == agreedStep) {
                agreed = loss;
            }
        }
    }
}
