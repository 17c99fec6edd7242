package org.dl4jamp.benchmarks.side;

import java.util.Collection;

/** Order statistics. */
public final class Statistics {
    private Statistics() {}

    /**
     * Returns the middle of the sorted numbers, or the mean of the two that are in the middle; there has to be one at
     * least.
     */
    public static double median(Collection<Double> numbers) {
        double[] sorted =
                numbers.stream().mapToDouble(Double::doubleValue).sorted().toArray();
        if (sorted.length == 0) {
            throw new IllegalArgumentException("the median of no numbers");
        }
        int middle = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }

    /** Returns the largest minus the smallest. */
    public static double range(Collection<Double> numbers) {
        double smallest = Double.POSITIVE_INFINITY;
        double largest = Double.NEGATIVE_INFINITY;
        for (double number : numbers) {
            smallest = Math.min(smallest, number);
            largest = Math.max(largest, number);
        }
        return largest - smallest;
    }
}
