package org.dl4jamp.inspect.compare.numbers;

import java.util.SortedMap;
import java.util.TreeMap;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Counts the magnitudes of the numbers of arrays, all of one data type. */
public final class RangeSums {
    private static final double LARGEST_HALF = 65504;
    private static final double LARGEST_BFLOAT16 = 0x1.FEp127;

    private final DataType type;
    private final SortedMap<Integer, Long> exponents = new TreeMap<>();
    private long numbers;
    private long zeros;
    private long nearOverflow;
    private long nonFinite;
    private double largest;

    /** @param type the type whose range counts: HALF, BFLOAT16 or FLOAT */
    public RangeSums(DataType type) {
        this.type = type;
    }

    /** Returns the type whose range counts. */
    public DataType type() {
        return type;
    }

    static double largest(DataType type) {
        return switch (type) {
            case HALF -> LARGEST_HALF;
            case BFLOAT16 -> LARGEST_BFLOAT16;
            default -> Float.MAX_VALUE;
        };
    }

    /** Adds the numbers of an array, which may be in a workspace. */
    public void add(INDArray array) {
        double half = largest(type) / 2;
        long[] counts = new long[2 * Double.MAX_EXPONENT];
        Chunks.forEach(array, chunk -> {
            for (float number : chunk) {
                add(Math.abs((double) number), half, counts);
            }
        });
        for (int i = 0; i < counts.length; i++) {
            if (counts[i] > 0) {
                exponents.merge(i - Double.MAX_EXPONENT, counts[i], Long::sum);
            }
        }
    }

    private void add(double magnitude, double half, long[] counts) {
        numbers++;
        if (magnitude == 0) {
            zeros++;
        } else if (Double.isFinite(magnitude)) {
            // In double precision FP32's subnormal numbers are normal ones, and have their exponent.
            counts[Math.getExponent(magnitude) + Double.MAX_EXPONENT]++;
            nearOverflow += magnitude > half ? 1 : 0;
            largest = Math.max(largest, magnitude);
        } else {
            nonFinite++;
        }
    }

    /** Adds what was counted in other arrays. */
    public void add(RangeSums more) {
        more.exponents.forEach((exponent, count) -> exponents.merge(exponent, count, Long::sum));
        numbers += more.numbers;
        zeros += more.zeros;
        nearOverflow += more.nearOverflow;
        nonFinite += more.nonFinite;
        largest = Math.max(largest, more.largest);
    }

    /** Returns the range of all that was added. */
    public NumberRange range() {
        double all = Math.max(1, numbers);
        return new NumberRange(
                type.toString(), numbers, zeros / all, nearOverflow / all, nonFinite / all, largest, exponents);
    }
}
