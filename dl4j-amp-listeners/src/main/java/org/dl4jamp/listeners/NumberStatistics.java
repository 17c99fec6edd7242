package org.dl4jamp.listeners;

import java.math.BigInteger;
import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

/**
 * The numbers of an array, against the range of its data type. Shares are from 0 to 1.
 *
 * @param type HALF, BFLOAT16 or FLOAT
 * @param numbers how many were looked at: all, or so many that are evenly spaced in memory
 * @param zero share of zeros, with those that underflowed
 * @param subnormal share of numbers below the smallest normal one, which have lost digits
 * @param nearOverflow share of finite numbers that twice their magnitude would overflow
 * @param nonFinite share of infinities and NaN
 * @param largest the largest finite magnitude; 0 if none is finite
 */
public record NumberStatistics(
        DataType type,
        long numbers,
        double zero,
        double subnormal,
        double nearOverflow,
        double nonFinite,
        double largest) {
    /** Numbers of an array that are looked at, at most. */
    static final int MOST = 4096;

    private static final double LARGEST_BFLOAT16 = 0x1.FEp127;

    /** Looks at an array, which may be in a workspace. */
    static NumberStatistics of(INDArray array) {
        float[] numbers;
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            numbers = sample(array);
        }
        return of(array.dataType(), numbers);
    }

    static NumberStatistics of(DataType type, float... numbers) {
        double half = largest(type) / 2;
        double normal = type == DataType.HALF ? 0x1p-14 : Float.MIN_NORMAL;
        long zeros = 0;
        long subnormals = 0;
        long near = 0;
        long nonFinite = 0;
        double largest = 0;
        for (float number : numbers) {
            double magnitude = Math.abs(number);
            if (!Double.isFinite(magnitude)) {
                nonFinite++;
                continue;
            }
            largest = Math.max(largest, magnitude);
            zeros += magnitude == 0 ? 1 : 0;
            subnormals += magnitude > 0 && magnitude < normal ? 1 : 0;
            near += magnitude > half ? 1 : 0;
        }
        double all = numbers.length;
        return new NumberStatistics(
                type, numbers.length, zeros / all, subnormals / all, near / all, nonFinite / all, largest);
    }

    private static double largest(DataType type) {
        return switch (type) {
            case HALF -> 65504;
            case BFLOAT16 -> LARGEST_BFLOAT16;
            default -> Float.MAX_VALUE;
        };
    }

    private static float[] sample(INDArray array) {
        if (array.length() <= MOST) {
            return array.castTo(DataType.FLOAT).dup('c').data().asFloat();
        }
        if (isDense(array)) {
            long step = step(array.length());
            long count = (array.length() + step - 1) / step;
            INDArray spaced = Nd4j.create(
                    array.data(), new long[] {count}, new long[] {step}, array.offset(), 'c', array.dataType());
            return spaced.castTo(DataType.FLOAT).dup('c').data().asFloat();
        }
        long rows = Math.max(1, MOST / (array.length() / array.size(0)));
        INDArray first = array.get(NDArrayIndex.interval(0, Math.min(rows, array.size(0))));
        return first.castTo(DataType.FLOAT).dup('c').data().asFloat();
    }

    /** Returns a step that shares no divisor with the length: another would meet the same columns of each image. */
    private static long step(long length) {
        long step = (length + MOST - 1) / MOST;
        while (BigInteger.valueOf(step).gcd(BigInteger.valueOf(length)).bitLength() != 1) {
            step++;
        }
        return step;
    }

    /** Returns whether an array fills its memory without gaps, in whatever order of its axes. */
    private static boolean isDense(INDArray array) {
        int[] axes = IntStream.range(0, array.rank())
                .filter(axis -> array.size(axis) > 1)
                .boxed()
                .sorted(Comparator.comparingLong(array::stride))
                .mapToInt(axis -> axis)
                .toArray();
        long[] expected = {1};
        return Arrays.stream(axes).allMatch(axis -> {
            boolean fits = array.stride(axis) == expected[0];
            expected[0] *= array.size(axis);
            return fits;
        });
    }
}
