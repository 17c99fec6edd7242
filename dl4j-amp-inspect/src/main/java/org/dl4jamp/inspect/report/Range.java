package org.dl4jamp.inspect.report;

import java.util.OptionalDouble;

/**
 * The finite values that a figure had. Others, NaN among them, aren't counted.
 *
 * @param count number of the values
 * @param sum their sum
 * @param first the first one; NaN if there is none
 * @param last the last one; NaN if there is none
 * @param least the smallest; infinity if there is none
 * @param most the largest; minus infinity if there is none
 */
record Range(long count, double sum, double first, double last, double least, double most) {
    /** The range of no value. */
    static final Range NONE =
            new Range(0, 0, Double.NaN, Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY);

    static Range of(double value) {
        return Double.isFinite(value) ? new Range(1, value, value, value, value, value) : NONE;
    }

    static Range of(OptionalDouble value) {
        return of(value.orElse(Double.NaN));
    }

    boolean isEmpty() {
        return count == 0;
    }

    /** Returns the mean; NaN if there is no value. */
    double mean() {
        return sum / count;
    }

    /** Returns the range of these values and later ones. */
    Range then(Range later) {
        if (isEmpty() || later.isEmpty()) {
            return isEmpty() ? later : this;
        }
        return new Range(
                count + later.count,
                sum + later.sum,
                first,
                later.last,
                Math.min(least, later.least),
                Math.max(most, later.most));
    }
}
