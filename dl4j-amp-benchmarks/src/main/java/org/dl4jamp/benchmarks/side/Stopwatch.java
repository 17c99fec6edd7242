package org.dl4jamp.benchmarks.side;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.function.LongSupplier;

/** Runs one repetition of a side in this process. */
public final class Stopwatch {
    /** Readings of HotSpot's compilation time in the shortest warm-up. */
    private static final int WINDOWS = 5;

    /** Steps shorter than this share a reading of the clock: reading and storing it take time, too. */
    private static final double SHORTEST_READING = 1e-3;

    private final LongSupplier nanoTime;

    /** @param nanoTime a clock, in nanoseconds */
    Stopwatch(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
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
    private record Measured(Steps steps, OptionalDouble otherLoad, Profile profile) {}

    /** Trains for the length of a schedule. */
    public static Repetition run(Training training, Schedule schedule) throws IOException {
        return new Stopwatch(System::nanoTime).measure(training, schedule);
    }

    /** Trains for the length of a schedule, and records where the time of the measured steps goes. */
    public static Repetition profile(Training training, Schedule schedule) throws IOException {
        Losses losses = new Losses(schedule.lossStep());
        Measured measured = new Stopwatch(System::nanoTime).profile(() -> losses.add(training.step()), schedule);
        return repetition(training, measured, losses, null);
    }

    /**
     * Infers for the length of a schedule.
     *
     * @param expected the expected outputs, in the order of {@link Inference#outputs}
     */
    public static Repetition run(Inference inference, Schedule schedule, float[] expected) throws IOException {
        Measured measured = new Stopwatch(System::nanoTime).measure(inference::pass, schedule);
        return repetition(inference, measured, null, OutputDifference.of(expected, inference.outputs()));
    }

    /**
     * Infers for the length of a schedule, and records where the time of the measured passes goes.
     *
     * @param expected the expected outputs, in the order of {@link Inference#outputs}
     */
    public static Repetition profile(Inference inference, Schedule schedule, float[] expected) throws IOException {
        Measured measured = new Stopwatch(System::nanoTime).profile(inference::pass, schedule);
        return repetition(inference, measured, null, OutputDifference.of(expected, inference.outputs()));
    }

    /** Trains for the length of a schedule, by this clock. */
    Repetition measure(Training training, Schedule schedule) throws IOException {
        Losses losses = new Losses(schedule.lossStep());
        return repetition(training, measure(() -> losses.add(training.step()), schedule), losses, null);
    }

    private Measured measure(Runnable step, Schedule schedule) throws IOException {
        warmUp(step, schedule);
        OtherLoad load = OtherLoad.begin();
        Steps steps = repeat(step, schedule.steps(), schedule.seconds());
        return new Measured(steps, load.share(), null);
    }

    private Measured profile(Runnable step, Schedule schedule) throws IOException {
        try (FlightRecording recording = new FlightRecording()) {
            warmUp(step, schedule);
            recording.begin();
            OtherLoad load = OtherLoad.begin();
            Steps steps = repeat(step, schedule.steps(), schedule.seconds());
            return new Measured(steps, load.share(), recording.stop(steps.steps(), steps.seconds()));
        }
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
