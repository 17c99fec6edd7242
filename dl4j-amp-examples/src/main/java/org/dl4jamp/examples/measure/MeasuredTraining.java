package org.dl4jamp.examples.measure;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;

/**
 * The time and memory of one training.
 *
 * @param seconds time of all iterations
 * @param secondsPerIteration median time of an iteration, those that measured memory (the first few and the last) left
 *     out
 * @param peakBytes the most bytes that ND4J held for the training, in workspaces and outside
 * @param losses the loss of each iteration
 */
public record MeasuredTraining(double seconds, double secondsPerIteration, long peakBytes, List<Double> losses) {
    /** Iterations in which workspaces get their size, caches fill and the JVM compiles. */
    private static final int WARM_UP = 5;

    /**
     * Trains.
     *
     * @param iterations how many iterations
     * @param iteration trains one iteration and returns its loss
     * @param memory the baseline, taken before the network was made
     * @param afterIteration called after each iteration
     */
    public static MeasuredTraining run(
            int iterations, DoubleSupplier iteration, HeldMemory memory, Runnable afterIteration) {
        return run(iterations, iteration, memory, afterIteration, System::nanoTime);
    }

    static MeasuredTraining run(
            int iterations,
            DoubleSupplier iteration,
            HeldMemory memory,
            Runnable afterIteration,
            LongSupplier nanoTime) {
        List<Double> losses = new ArrayList<>();
        double[] seconds = new double[iterations];
        int warmUp = Math.min(WARM_UP, iterations / 2);
        long peak = 0;
        for (int i = 0; i < iterations; i++) {
            int index = i;
            Runnable timed = () -> {
                long start = nanoTime.getAsLong();
                losses.add(iteration.getAsDouble());
                seconds[index] = (nanoTime.getAsLong() - start) / 1e9;
            };
            if (i < warmUp || i == iterations - 1) {
                peak = Math.max(peak, memory.peakDuring(timed));
            } else {
                timed.run();
            }
            afterIteration.run();
        }
        double[] steady = Arrays.copyOfRange(seconds, warmUp, Math.max(iterations - 1, warmUp + 1));
        return new MeasuredTraining(Arrays.stream(seconds).sum(), median(steady), peak, losses);
    }

    public MeasuredTraining {
        losses = List.copyOf(losses);
    }

    /** Returns the loss of the last iteration. */
    public double loss() {
        return losses.get(losses.size() - 1);
    }

    static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        int middle = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }
}
