package org.dl4jamp.benchmarks.side;

/** The difference of outputs from the expected ones. */
final class OutputDifference {
    private OutputDifference() {}

    /**
     * Returns the largest difference, in fractions of the largest expected magnitude; NaN if a number is NaN.
     *
     * @throws IllegalStateException if they aren't as many
     */
    static double of(float[] expected, float[] actual) {
        if (expected.length != actual.length) {
            throw new IllegalStateException(
                    "there should be " + expected.length + " outputs and there are " + actual.length);
        }
        double largest = 0;
        double difference = 0;
        for (int i = 0; i < expected.length; i++) {
            largest = Math.max(largest, Math.abs((double) expected[i]));
            difference = Math.max(difference, Math.abs((double) actual[i] - expected[i]));
        }
        return difference / largest;
    }
}
