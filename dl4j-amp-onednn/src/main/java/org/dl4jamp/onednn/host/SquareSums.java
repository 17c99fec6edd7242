package org.dl4jamp.onednn.host;

import java.nio.FloatBuffer;
import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * Sums of squares, a float for each place of a chunk, of which the compiler makes vector instructions: it makes none of
 * a loop that widens floats to doubles. Before digits are lost the floats are added up in double precision.
 */
final class SquareSums {
    /** Squares that one float sums: the sum of 32 is off by 2e-6 at most, and by 3e-7 as a rule. */
    private static final int CHUNKS = 32;

    /** Below, the squares may have been below FP32's range by as much as this is above it. */
    private static final double SMALL = 1e-20;

    private final float[] squares = new float[FlatFloats.CHUNK];
    private int chunks;
    private double sum;

    /** Adds the squares of the first numbers of a chunk. */
    void add(float[] numbers, int size) {
        addSquares(numbers, squares, size);
        chunks++;
        if (chunks == CHUNKS) {
            drain();
        }
    }

    private static void addSquares(float[] numbers, float[] squares, int size) {
        for (int i = 0; i < size; i++) {
            squares[i] += numbers[i] * numbers[i];
        }
    }

    private void drain() {
        double even = 0;
        double odd = 0;
        for (int i = 0; i < squares.length; i += 2) {
            even += squares[i];
            odd += squares[i + 1];
            squares[i] = 0;
            squares[i + 1] = 0;
        }
        sum += even + odd;
        chunks = 0;
    }

    double sum() {
        drain();
        return sum;
    }

    /** Returns the Euclidean norm of numbers, finite if they all are. */
    static double norm2(List<FlatFloats> arrays) {
        return root(sum(arrays, SquareSums::of), arrays);
    }

    private static double sum(List<FlatFloats> arrays, ToDoubleFunction<FloatBuffer> ofRange) {
        return FlatFloats.sumAll(arrays.stream()
                .map(array -> new FlatFloats.Pass(
                        array.length(), (start, size) -> ofRange.applyAsDouble(array.range(start, size))))
                .toList());
    }

    private static double of(FloatBuffer numbers) {
        SquareSums squares = new SquareSums();
        float[] chunk = new float[FlatFloats.CHUNK];
        while (numbers.hasRemaining()) {
            int size = Math.min(chunk.length, numbers.remaining());
            numbers.get(chunk, 0, size);
            squares.add(chunk, size);
        }
        return squares.sum();
    }

    /**
     * Returns the square root of a sum of squares.
     *
     * @param arrays the summed arrays, in case that the squares overflow FP32
     */
    static double root(double sum, List<FlatFloats> arrays) {
        return Math.sqrt(Double.isFinite(sum) && sum > SMALL ? sum : sum(arrays, SquareSums::inDoublePrecision));
    }

    private static double inDoublePrecision(FloatBuffer numbers) {
        double sum = 0;
        while (numbers.hasRemaining()) {
            double number = numbers.get();
            sum += number * number;
        }
        return sum;
    }
}
