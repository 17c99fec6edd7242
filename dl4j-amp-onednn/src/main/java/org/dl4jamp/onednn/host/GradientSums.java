package org.dl4jamp.onednn.host;

import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleBiFunction;

/**
 * Sums of the gradients of several backward passes. The pass that adds also checks the sums, so that no further pass
 * reads them.
 */
final class GradientSums {
    private static final float[] ZEROS = new float[FlatFloats.CHUNK];

    private GradientSums() {}

    /**
     * Moves gradients to sums, and leaves zeros in their place.
     *
     * @param first whether they replace the present sums
     * @return whether all sums are finite
     */
    static boolean move(List<FlatFloats> gradients, List<FlatFloats> sums, boolean first) {
        return sumOfPairs(gradients, sums, (from, to) -> move(from, to, first)) == 0;
    }

    /** Returns the sum of a number for each range of two lists of arrays. */
    private static double sumOfPairs(
            List<FlatFloats> ones, List<FlatFloats> others, ToDoubleBiFunction<FloatBuffer, FloatBuffer> number) {
        List<FlatFloats.Pass> passes = new ArrayList<>();
        for (int i = 0; i < ones.size(); i++) {
            FlatFloats one = ones.get(i);
            FlatFloats other = others.get(i);
            passes.add(new FlatFloats.Pass(
                    one.length(),
                    (start, size) -> number.applyAsDouble(one.range(start, size), other.range(start, size))));
        }
        return FlatFloats.sumAll(passes);
    }

    /** Returns zero if all sums are finite, otherwise NaN. */
    private static double move(FloatBuffer gradients, FloatBuffer sums, boolean first) {
        float[] g = new float[FlatFloats.CHUNK];
        float[] s = new float[FlatFloats.CHUNK];
        float[] zeroTimes = new float[FlatFloats.CHUNK];
        while (gradients.hasRemaining()) {
            int size = Math.min(g.length, gradients.remaining());
            int at = gradients.position();
            gradients.get(at, g, 0, size);
            if (!first) {
                sums.get(at, s, 0, size);
                add(g, s, size);
            }
            addZeroTimes(g, zeroTimes, size);
            sums.put(at, g, 0, size);
            gradients.put(ZEROS, 0, size);
        }
        double notFinite = 0;
        for (float one : zeroTimes) {
            notFinite += one;
        }
        return notFinite;
    }

    private static void add(float[] numbers, float[] more, int size) {
        for (int i = 0; i < size; i++) {
            numbers[i] += more[i];
        }
    }

    /** Adds zero times each number, which is zero, and NaN for infinities and NaN. */
    private static void addZeroTimes(float[] numbers, float[] zeroTimes, int size) {
        for (int i = 0; i < size; i++) {
            zeroTimes[i] += 0f * numbers[i];
        }
    }

    /**
     * Adds sums to gradients.
     *
     * @return the Euclidean norm of the gradients, finite if they all are
     */
    static double add(List<FlatFloats> sums, List<FlatFloats> gradients) {
        return SquareSums.root(sumOfPairs(sums, gradients, GradientSums::add), gradients);
    }

    private static double add(FloatBuffer sums, FloatBuffer gradients) {
        float[] g = new float[FlatFloats.CHUNK];
        float[] s = new float[FlatFloats.CHUNK];
        SquareSums squares = new SquareSums();
        while (gradients.hasRemaining()) {
            int size = Math.min(g.length, gradients.remaining());
            int at = gradients.position();
            gradients.get(at, g, 0, size);
            sums.get(at, s, 0, size);
            add(g, s, size);
            squares.add(g, size);
            gradients.put(g, 0, size);
        }
        return squares.sum();
    }
}
