package org.dl4jamp.onednn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The tolerance between a twin's result and DL4J's on the same numbers. */
public final class Agreement {
    /** The error of FP32 sums in another order, relative to the array's norm. */
    private static final double FLOAT_ERROR = 1e-5;
    /** The error of rounding to the 8 bits of BFLOAT16: half the last of them. */
    public static final double ROUNDING = 0x1p-8;

    private Agreement() {}

    /** Returns the error of rounding to a type; 0 for FP32, where {@link #FLOAT_ERROR} counts. */
    public static double rounding(DataType type) {
        return type == DataType.BFLOAT16 ? ROUNDING : 0;
    }

    /**
     * Input, weights and epsilon were representable, so nothing but the result itself was rounded: each element is off
     * by one rounding at most, besides FP32's error.
     */
    public static void assertRoundedOnce(String what, INDArray expected, INDArray actual) {
        double[] full = values(expected);
        double[] twin = values(actual);
        assertArrayEquals(expected.shape(), actual.shape(), what);
        double rounding = rounding(actual.dataType());
        double slack = FLOAT_ERROR * norm(full) / Math.sqrt(full.length);
        for (int i = 0; i < full.length; i++) {
            double bound = rounding * Math.abs(full[i]) * (1 + ROUNDING) + 10 * slack;
            assertTrue(
                    Math.abs(full[i] - twin[i]) <= bound,
                    what + "[" + i + "]: DL4J " + full[i] + ", twin " + twin[i] + ", bound " + bound);
        }
        assertClose(what, full, twin, rounding + FLOAT_ERROR);
    }

    /**
     * The terms of sums were rounded, and then the sums: each may be off by that part of the sum of its terms'
     * magnitudes, besides FP32's error.
     *
     * @param magnitude the sums of the terms' magnitudes
     * @param termError of a term, relative
     */
    public static void assertSummedOfRounded(
            String what, INDArray expected, INDArray actual, INDArray magnitude, double termError) {
        double[] full = values(expected);
        double[] twin = values(actual);
        double[] magnitudes = values(magnitude);
        assertArrayEquals(expected.shape(), actual.shape(), what);
        double rounding = rounding(actual.dataType());
        double slack = FLOAT_ERROR * norm(magnitudes) / Math.sqrt(full.length);
        for (int i = 0; i < full.length; i++) {
            double bound =
                    termError * Math.abs(magnitudes[i]) * (1 + 2 * ROUNDING) + rounding * Math.abs(full[i]) + slack;
            assertTrue(
                    Math.abs(full[i] - twin[i]) <= bound,
                    what + "[" + i + "]: DL4J " + full[i] + ", twin " + twin[i] + ", bound " + bound);
        }
    }

    /** Each element is off by the rounding of what it's summed up from, at most, besides FP32's error. */
    public static void assertBounded(String what, INDArray expected, INDArray actual, INDArray magnitudes) {
        assertArrayEquals(expected.shape(), actual.shape(), what);
        double[] full = values(expected);
        double[] twin = values(actual);
        double[] bounds = values(magnitudes);
        double rounding = ROUNDING * (2 + ROUNDING);
        for (int i = 0; i < full.length; i++) {
            double bound = (rounding + FLOAT_ERROR) * bounds[i] + 1e-7;
            assertTrue(
                    Math.abs(full[i] - twin[i]) <= bound,
                    what + "[" + i + "]: DL4J " + full[i] + ", twin " + twin[i] + ", bound " + bound);
        }
    }

    /** The error's norm against the result's. */
    public static void assertWithin(String what, INDArray expected, INDArray actual, double relativeError) {
        assertArrayEquals(expected.shape(), actual.shape(), what);
        assertClose(what, values(expected), values(actual), relativeError);
    }

    /**
     * The error's norm against the larger of two: the result's, and that of the terms that it's summed up from. A
     * result of few numbers may be small where large terms cancel out.
     */
    public static void assertWithin(
            String what, INDArray expected, INDArray actual, double relativeError, INDArray terms) {
        double[] full = values(expected);
        double[] twin = values(actual);
        assertArrayEquals(expected.shape(), actual.shape(), what);
        double scale = Math.max(norm(full), norm(values(terms)));
        double[] error = new double[full.length];
        Arrays.setAll(error, i -> full[i] - twin[i]);
        assertTrue(
                norm(error) <= relativeError * scale,
                what + ": error " + norm(error) + " > " + relativeError + " of " + scale);
    }

    private static void assertClose(String what, double[] full, double[] twin, double relativeError) {
        double error = 0;
        double product = 0;
        for (int i = 0; i < full.length; i++) {
            error += (full[i] - twin[i]) * (full[i] - twin[i]);
            product += full[i] * twin[i];
        }
        double norm = norm(full);
        assertTrue(
                Math.sqrt(error) <= relativeError * norm + 1e-12,
                what + ": relative error " + Math.sqrt(error) / norm + " > " + relativeError);
        assertTrue(norm == 0 || product / norm / norm(twin) > 0.999, what + ": points elsewhere");
    }

    private static double norm(double[] values) {
        double sum = 0;
        for (double value : values) {
            sum += value * value;
        }
        return Math.sqrt(sum);
    }

    private static double[] values(INDArray array) {
        return array.castTo(DataType.DOUBLE).dup('c').data().asDouble();
    }
}
