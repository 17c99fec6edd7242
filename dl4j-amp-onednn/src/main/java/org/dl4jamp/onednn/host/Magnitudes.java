package org.dl4jamp.onednn.host;

import java.nio.IntBuffer;
import java.util.OptionalDouble;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The largest magnitude in an array, read as an integer: that of numbers without sign grows with them, and infinities
 * and NaN have the largest.
 */
public final class Magnitudes {
    private static final int MAGNITUDE = 0x7fffffff;
    private static final int MAGNITUDE_OF_HIGHER = 0x7fff0000;

    private Magnitudes() {}

    /**
     * Returns the largest of an array.
     *
     * @param array FLOAT or BFLOAT16
     * @return infinite or NaN if one of the numbers is; empty if the numbers are of another type, scattered, or in
     *     BFLOAT16 an odd number of them
     */
    public static OptionalDouble largest(INDArray array) {
        boolean half = array.dataType() == DataType.BFLOAT16;
        if (!half && array.dataType() != DataType.FLOAT) {
            return OptionalDouble.empty();
        }
        return FlatFloats.words(array)
                .map(flat -> OptionalDouble.of(
                        FlatFloats.maxOfRanges(flat.length(), (start, size) -> largest(flat.bits(start, size), half))))
                .orElseGet(OptionalDouble::empty);
    }

    /** Returns whether none of an array's numbers is infinite or NaN. It may be scattered, and of any type. */
    public static boolean areFinite(INDArray array) {
        return Double.isFinite(largest(array).orElseGet(() -> largestOfScattered(array)));
    }

    /** The largest of an array of any type, which may be scattered. */
    public static double largestOfScattered(INDArray array) {
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            return largest(array.castTo(DataType.FLOAT).dup('c')).orElseThrow();
        }
    }

    private static float largest(IntBuffer words, boolean half) {
        int[] chunk = new int[FlatFloats.CHUNK];
        int[] largest = new int[FlatFloats.CHUNK];
        while (words.hasRemaining()) {
            int size = Math.min(FlatFloats.CHUNK, words.remaining());
            words.get(chunk, 0, size);
            if (half) {
                takeHalves(chunk, largest, size);
            } else {
                take(chunk, largest, size);
            }
        }
        int bits = 0;
        for (int one : largest) {
            bits = Math.max(bits, one);
        }
        return Float.intBitsToFloat(bits);
    }

    private static void take(int[] numbers, int[] largest, int size) {
        for (int i = 0; i < size; i++) {
            largest[i] = larger(largest[i], numbers[i] & MAGNITUDE);
        }
    }

    /** Takes two numbers from each word, as the higher halves of FP32's. */
    private static void takeHalves(int[] numbers, int[] largest, int size) {
        for (int i = 0; i < size; i++) {
            int higher = numbers[i] & MAGNITUDE_OF_HIGHER;
            int lower = (numbers[i] << 16) & MAGNITUDE_OF_HIGHER;
            largest[i] = larger(largest[i], larger(higher, lower));
        }
    }

    /**
     * Returns the larger of two magnitudes. HotSpot of Java 17 doesn't vectorize a maximum of integers, which takes
     * five times as long.
     */
    private static int larger(int one, int other) {
        int more = one - other;
        return one - (more & (more >> 31));
    }
}
