package org.dl4jamp.benchmarks.side;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.LongSupplier;

/** Runs one repetition of a side in this process. */
public final class Stopwatch {
    /** How often in the shortest warm-up HotSpot's compiler would be asked what it takes. */
    private static final int WINDOWS = 5;

    /** Steps that are shorter than this share a reading of the clock: it takes time itself, and so does keeping what it says. */
    private static final double SHORTEST_READING = 1e-3;

    private final LongSupplier nanoTime;

    /**
     * @param nanoTime a clock, in nanoseconds
     */
    Stopwatch(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    /**
     * What was measured.
     *
     * @param secondsPerStep by each reading
     * @param steps how many
     * @param seconds all of them
     */
    private record Steps(List<Double> secondsPerStep, int steps, double seconds) {}

    /** Trains as long as the schedule says. */
    public static Repetition run(Training training, Schedule schedule) throws IOException {
        return new Stopwatch(System::nanoTime).measure(training, schedule);
    }

    /** Trains as long as the schedule says by this clock. */
    Repetition measure(Training training, Schedule schedule) throws IOException {
        Losses losses = new Losses(schedule.lossStep());
        warmUp(training, losses, schedule);
        return repetition(training, losses, repeat(training, losses, schedule.steps(), schedule.seconds()), null);
    }

    /** Trains as long as the schedule says, and records where the time of the measured steps goes. */
    public static Repetition profile(Training training, Schedule schedule) throws IOException {
        Losses losses = new Losses(schedule.lossStep());
        Stopwatch watch = new Stopwatch(System::nanoTime);
        try (FlightRecording recording = new FlightRecording()) {
            watch.warmUp(training, losses, schedule);
            recording.begin();
            Steps steps = watch.repeat(training, losses, schedule.steps(), schedule.seconds());
            return repetition(training, losses, steps, recording.stop(steps.steps(), steps.seconds()));
        }
    }

    /** A network of many layers keeps HotSpot busy for half a minute, at the cost of the native libraries' threads. */
    private void warmUp(Training training, Losses losses, Schedule schedule) {
        long begin = nanoTime.getAsLong();
        repeat(training, losses, schedule.warmUpSteps(), schedule.warmUpSeconds());
        CompilerShare compiler = new CompilerShare(nanoTime, CompilerShare::millisOfThisProcess);
        while (secondsSince(begin) < schedule.warmUpSeconds() * Schedule.PATIENCE) {
            repeat(training, losses, 1, schedule.warmUpSeconds() / WINDOWS);
            if (compiler.sinceLast() < CompilerShare.LOW) {
                return;
            }
        }
    }

    private static Repetition repetition(Training training, Losses losses, Steps steps, Profile profile)
            throws IOException {
        OptionalLong activations = training.activationBytes();
        OptionalLong peak = PeakMemory.ofThisProcess();
        return new Repetition(
                steps.secondsPerStep(),
                steps.steps(),
                losses.first,
                losses.agreed,
                peak.isPresent() ? peak.getAsLong() : null,
                activations.isPresent() ? activations.getAsLong() : null,
                training.chosen().orElse(null),
                profile,
                null);
    }

    private Steps repeat(Training training, Losses losses, int steps, double seconds) {
        List<Double> readings = new ArrayList<>();
        int made = 0;
        double sum = 0;
        while (made < steps || sum < seconds) {
            int together = 0;
            double reading;
            long start = nanoTime.getAsLong();
            do {
                losses.add(training.step());
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
