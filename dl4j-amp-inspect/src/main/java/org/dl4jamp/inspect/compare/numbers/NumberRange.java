package org.dl4jamp.inspect.compare.numbers;

import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The magnitudes of numbers, against the range of their data type. Shares are from 0 to 1.
 *
 * @param type HALF, BFLOAT16 or FLOAT
 * @param numbers how many there are
 * @param zero share of zeros
 * @param nearOverflow share of finite numbers that twice their magnitude would overflow
 * @param nonFinite share of infinities and NaN
 * @param largest the largest finite magnitude; 0 if none is finite
 * @param exponents how many numbers there are of each exponent e, with a magnitude from 2^e to less than 2^(e+1)
 */
public record NumberRange(
        String type,
        long numbers,
        double zero,
        double nearOverflow,
        double nonFinite,
        double largest,
        SortedMap<Integer, Long> exponents) {
    public NumberRange {
        exponents = new TreeMap<>(exponents);
    }
}
