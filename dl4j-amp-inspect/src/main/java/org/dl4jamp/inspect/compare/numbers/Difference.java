package org.dl4jamp.inspect.compare.numbers;

/**
 * The difference of numbers from those of stock DL4J in FP32.
 *
 * @param numbers how many were compared
 * @param error the Euclidean norm of the difference, divided by that of the FP32 numbers. 0 if all are equal. Infinite
 *     if numbers aren't finite that are in FP32, or if FP32's are all zero and others aren't. NaN if FP32's aren't
 *     finite
 * @param cosine the cosine of the angle between both, from -1 to 1; 1 if both are zero, NaN if any isn't finite
 * @param vanished the share, from 0 to 1, that is zero here, of the numbers that aren't zero in FP32
 * @param lost the Euclidean norm of the FP32 numbers that are zero here, divided by that of all, from 0 to 1
 * @param nonFinite the share of infinities and NaN, from 0 to 1
 */
public record Difference(long numbers, double error, double cosine, double vanished, double lost, double nonFinite) {
    /** Returns whether numbers aren't finite here, though all are in FP32. */
    public boolean overflows() {
        return nonFinite > 0 && !Double.isNaN(error);
    }
}
