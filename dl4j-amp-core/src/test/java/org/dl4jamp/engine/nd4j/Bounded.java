package org.dl4jamp.engine.nd4j;

import java.util.List;
import java.util.function.DoubleUnaryOperator;

/**
 * A number in double precision, and by how much a computation in lower precision may be off: running error analysis
 * (Higham, Accuracy and Stability of Numerical Algorithms, 3.3). Every operation adds what rounding its result to FP32
 * may add; {@link #toHalf} adds the same for HALF.
 */
record Bounded(double value, double error) {
    static final Bounded ZERO = exact(0);

    /** Unit roundoff of FP32, twice, for operations that aren't rounded correctly and for terms of second order. */
    private static final double FLOAT_ROUNDING = 0x1p-23;

    /** ND4J's sigmoid and tanh are FP32 expressions of several operations. */
    private static final double FUNCTION_ROUNDING = 0x1p-21;

    static Bounded exact(double value) {
        return new Bounded(value, 0);
    }

    private static Bounded rounded(double value, double error) {
        return new Bounded(value, error + FLOAT_ROUNDING * (Math.abs(value) + error));
    }

    private double magnitude() {
        return Math.abs(value) + error;
    }

    Bounded plus(Bounded other) {
        return rounded(value + other.value, error + other.error);
    }

    Bounded minus(Bounded other) {
        return rounded(value - other.value, error + other.error);
    }

    Bounded times(Bounded other) {
        return rounded(value * other.value, Math.abs(value) * other.error + error * other.magnitude());
    }

    /** The sum of products, in whatever order they are summed. */
    static Bounded dot(List<Bounded> left, List<Bounded> right) {
        double value = 0;
        double error = 0;
        double magnitude = 0;
        for (int i = 0; i < left.size(); i++) {
            Bounded a = left.get(i);
            Bounded b = right.get(i);
            value += a.value * b.value;
            error += Math.abs(a.value) * b.error + a.error * b.magnitude();
            magnitude += a.magnitude() * b.magnitude();
        }
        return new Bounded(value, error + left.size() * FLOAT_ROUNDING * magnitude);
    }

    static Bounded sum(List<Bounded> terms) {
        return dot(terms, terms.stream().map(term -> exact(1)).toList());
    }

    /** Half an ulp of HALF, in its normal or subnormal range. */
    Bounded toHalf() {
        return new Bounded(value, error + 0x1p-11 * magnitude() + 0x1p-25);
    }

    /**
     * A function.
     *
     * @param slope the largest absolute value of its derivative
     */
    Bounded apply(DoubleUnaryOperator function, double slope) {
        double result = function.applyAsDouble(value);
        return new Bounded(result, slope * error + FUNCTION_ROUNDING * (Math.abs(result) + slope * error));
    }

    /** With the rounding error of an intermediate result of a given magnitude. */
    Bounded roundedAs(double magnitude) {
        return new Bounded(value, error + FUNCTION_ROUNDING * magnitude);
    }

    /** Returns whether a computed result is within the bound. */
    boolean admits(double result) {
        return Math.abs(result - value) <= error;
    }
}
