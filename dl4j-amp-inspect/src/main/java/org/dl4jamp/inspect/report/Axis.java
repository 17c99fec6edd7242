package org.dl4jamp.inspect.report;

import java.util.ArrayList;
import java.util.List;

/**
 * An axis of a chart.
 *
 * @param least the value at its begin
 * @param most the value at its end
 * @param base 0 for a linear axis, otherwise the base of the powers that a logarithmic one has its ticks at
 */
record Axis(double least, double most, int base) {
    private static final int TICKS = 5;

    /** Returns a linear axis for values, a little longer than needed, with round numbers for ticks. */
    static Axis linear(double least, double most) {
        if (least == most) {
            double room = least == 0 ? 1 : Math.abs(least) / 2;
            return linear(least - room, most + room);
        }
        double step = step(least, most);
        return new Axis(Math.floor(least / step) * step, Math.ceil(most / step) * step, 0);
    }

    /** Returns a linear axis of exactly these values, for whole numbers. */
    static Axis exact(double least, double most) {
        return new Axis(least, most, 0);
    }

    /** Returns a logarithmic axis for positive values, from one power of the base to another. */
    static Axis logarithmic(double least, double most, int base) {
        double low = Math.floor(log(least, base) + 1e-9);
        double high = Math.ceil(log(most, base) - 1e-9);
        return new Axis(Math.pow(base, low), Math.pow(base, low == high ? high + 1 : high), base);
    }

    private static double log(double value, int base) {
        return Math.log(value) / Math.log(base);
    }

    private static double step(double least, double most) {
        double raw = (most - least) / TICKS;
        double power = Math.pow(10, Math.floor(Math.log10(raw)));
        double digit = raw / power;
        return power * (digit < 1.5 ? 1 : digit < 3.5 ? 2 : digit < 7.5 ? 5 : 10);
    }

    /** Returns the place of a value: 0 at the begin, 1 at the end. */
    double at(double value) {
        if (least == most) {
            return 0.5;
        }
        double at = base == 0 ? (value - least) / (most - least) : log(value / least, base) / log(most / least, base);
        return Math.max(0, Math.min(1, at));
    }

    /** Returns the values at which ticks are drawn. */
    List<Double> ticks() {
        return base == 0 ? linearTicks() : powers();
    }

    private List<Double> linearTicks() {
        if (least == most) {
            return List.of(least);
        }
        List<Double> ticks = new ArrayList<>();
        double step = step(least, most);
        long first = (long) Math.ceil(least / step - 1e-9);
        for (long i = first; i * step <= most + step * 1e-9; i++) {
            ticks.add(i * step);
        }
        return ticks;
    }

    private List<Double> powers() {
        List<Double> ticks = new ArrayList<>();
        long low = Math.round(log(least, base));
        long high = Math.round(log(most, base));
        long step = Math.max(1, Math.round((high - low) / (double) TICKS));
        for (long i = low; i <= high; i += step) {
            ticks.add(Math.pow(base, (double) i));
        }
        return ticks;
    }
}
