package org.dl4jamp.randomized;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Everything that a player saw, in order. */
final class Observations {
    private static final double TOLERANCE = 1e-4;

    private final List<Seen> all = new ArrayList<>();

    /** An array, or an exception. */
    private static final class Seen {
        private final String name;
        private final double[] values;
        private final long[] shape;
        private final Throwable failure;

        private Seen(String name, double[] values, long[] shape, Throwable failure) {
            this.name = name;
            this.values = values;
            this.shape = shape;
            this.failure = failure;
        }

        /** Returns the number of the call, which its name begins with. */
        private String call() {
            return name.split(" ", 2)[0];
        }

        /** Returns whether parameters, updater state or score aren't finite. */
        private boolean isRuined() {
            return (name.contains(": ") || name.endsWith(" score"))
                    && !Arrays.stream(values).allMatch(Double::isFinite);
        }

        @Override
        public String toString() {
            return failure == null ? Arrays.toString(shape) : failure.toString();
        }
    }

    /**
     * The first difference between two players.
     *
     * @param index of the observation
     * @param size the largest difference, infinite if it's not one of numbers
     * @param failure the exception of mixed precision alone, if that's it
     */
    record Difference(int index, String name, double size, String text, Throwable failure) {}

    void add(String name, INDArray array) {
        all.add(new Seen(
                name,
                array == null ? new double[0] : array.dup().data().asDouble(),
                array == null ? new long[0] : array.shape(),
                null));
    }

    void add(String name, Map<String, INDArray> arrays) {
        arrays.forEach((key, array) -> add(name + " " + key, array));
    }

    void add(String name, double value) {
        all.add(new Seen(name, new double[] {value}, new long[0], null));
    }

    void addFailure(String name, Throwable failure) {
        all.add(new Seen(name, new double[0], new long[0], failure));
    }

    /** Returns whether the last call failed. */
    boolean endsInFailure() {
        return !all.isEmpty() && all.get(all.size() - 1).failure != null;
    }

    int size() {
        return all.size();
    }

    /** Returns the first difference of another player, in mixed precision. */
    Optional<Difference> difference(Observations other) {
        for (int i = 0; i < all.size(); i++) {
            Seen expected = all.get(i);
            if (i >= other.all.size()) {
                return Optional.of(new Difference(i, expected.name, Double.POSITIVE_INFINITY, "isn't there", null));
            }
            Seen actual = other.all.get(i);
            if (expected.failure != null || expected.isRuined()) {
                // Where stock DL4J fails, or goes on with NaN where mixed precision skips, there's nothing to compare
                // with.
                return Optional.empty();
            }
            if (actual.failure != null) {
                return Optional.of(new Difference(
                        i, expected.name, Double.POSITIVE_INFINITY, actual.failure.toString(), actual.failure));
            }
            Optional<Difference> found = difference(i, expected, actual);
            if (found.isPresent()) {
                return isRuinedBehind(i) ? Optional.empty() : found;
            }
        }
        return Optional.empty();
    }

    /** Returns whether parameters, updater state or score behind an observation of a call aren't finite. */
    private boolean isRuinedBehind(int index) {
        String call = all.get(index).call();
        return all.stream().skip(index).anyMatch(seen -> seen.call().equals(call) && seen.isRuined());
    }

    private static Optional<Difference> difference(int index, Seen expected, Seen actual) {
        if (!expected.name.equals(actual.name) || !Arrays.equals(expected.shape, actual.shape)) {
            return Optional.of(new Difference(
                    index,
                    expected.name,
                    Double.POSITIVE_INFINITY,
                    expected.name + " " + expected + " is now " + actual.name + " " + actual,
                    null));
        }
        double largest = 0;
        int at = -1;
        for (int k = 0; k < expected.values.length; k++) {
            double size = distance(expected.values[k], actual.values[k]);
            if (size > largest) {
                largest = size;
                at = k;
            }
        }
        if (largest <= TOLERANCE) {
            return Optional.empty();
        }
        String text = String.format(
                Locale.ROOT,
                "%s %s: number %d is %g in stock DL4J and %g here",
                expected.name,
                Arrays.toString(expected.shape),
                at,
                expected.values[at],
                actual.values[at]);
        return Optional.of(new Difference(index, expected.name, largest, text, null));
    }

    /** Returns how far two numbers are apart, absolutely for small ones and relatively for large ones. */
    private static double distance(double expected, double actual) {
        if (Double.compare(expected, actual) == 0 || expected == actual) {
            return 0;
        }
        double distance = Math.abs(expected - actual) / Math.max(1, Math.abs(expected));
        return Double.isNaN(distance) ? Double.POSITIVE_INFINITY : distance;
    }

    /** The largest difference of one observation, for two runs of stock DL4J; 0 if there is none in one of them. */
    double spread(int index, Observations other) {
        if (index >= all.size() || index >= other.all.size()) {
            return 0;
        }
        Seen one = all.get(index);
        Seen another = other.all.get(index);
        if (one.failure != null || another.failure != null || one.values.length != another.values.length) {
            return 0;
        }
        double largest = 0;
        for (int k = 0; k < one.values.length; k++) {
            largest = Math.max(largest, distance(one.values[k], another.values[k]));
        }
        return largest;
    }
}
