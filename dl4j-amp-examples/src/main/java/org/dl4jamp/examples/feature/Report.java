package org.dl4jamp.examples.feature;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The output of an example, and its claims. */
final class Report {
    /**
     * A figure that has to be within limits.
     *
     * @param what it's the figure of
     * @param atLeast its smallest value
     * @param atMost its largest value
     */
    record Claim(String what, double value, double atLeast, double atMost) {
        boolean holds() {
            return value >= atLeast && value <= atMost;
        }

        @Override
        public String toString() {
            String limits = atLeast == atMost
                    ? "has to be " + number(atLeast)
                    : atMost == Double.POSITIVE_INFINITY
                            ? "at least " + number(atLeast)
                            : atLeast == Double.NEGATIVE_INFINITY
                                    ? "at most " + number(atMost)
                                    : number(atLeast) + " to " + number(atMost);
            return String.format("%-6s %s: %s (%s)", holds() ? "ok" : "FAILED", what, number(value), limits);
        }

        private static String number(double value) {
            return value == Math.rint(value) && Math.abs(value) < 1e9
                    ? String.valueOf((long) value)
                    : String.format(Locale.ROOT, "%.4g", value);
        }
    }

    private final PrintWriter out;
    private final List<Claim> claims = new ArrayList<>();

    Report(PrintWriter out) {
        this.out = out;
    }

    /** Prints a line. */
    void say(String line) {
        out.println(line);
    }

    void is(String what, long value, long exactly) {
        is(what, (double) value, (double) exactly);
    }

    void is(String what, double value, double exactly) {
        within(what, value, exactly, exactly);
    }

    void atLeast(String what, double value, double least) {
        within(what, value, least, Double.POSITIVE_INFINITY);
    }

    void atMost(String what, double value, double most) {
        within(what, value, Double.NEGATIVE_INFINITY, most);
    }

    private void within(String what, double value, double atLeast, double atMost) {
        Claim claim = new Claim(what, value, atLeast, atMost);
        claims.add(claim);
        out.println(claim);
    }

    List<Claim> claims() {
        return List.copyOf(claims);
    }
}
