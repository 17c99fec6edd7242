package org.dl4jamp.inspect.report;

import java.math.BigDecimal;
import java.math.MathContext;
import java.util.Locale;

/** Numbers as the page shows them, in English and with their units. */
final class Numbers {
    private static final int DIGITS = 4;

    private Numbers() {}

    /** Returns a whole number, such as {@code 12,345}. */
    static String whole(long number) {
        return String.format(Locale.ROOT, "%,d", number);
    }

    /** Returns a number with four digits, such as {@code 0.01234} or {@code 1.234e-7}. */
    static String number(double number) {
        if (!Double.isFinite(number)) {
            return String.valueOf(number);
        }
        if (number == Math.rint(number) && Math.abs(number) < 1e9) {
            return whole((long) number);
        }
        double magnitude = Math.abs(number);
        if (magnitude < 1e-4 || magnitude >= 1e9) {
            return String.format(Locale.ROOT, "%." + (DIGITS - 1) + "e", number)
                    .replaceFirst("\\.?0*e\\+?(-?)0*(\\d)", "e$1$2");
        }
        return rounded(number, DIGITS);
    }

    private static String rounded(double number, int digits) {
        return BigDecimal.valueOf(number)
                .round(new MathContext(digits))
                .stripTrailingZeros()
                .toPlainString();
    }

    /** Returns a scale: whole numbers in full, others as powers of two where they are. */
    static String scale(double scale) {
        int exponent = Math.getExponent(scale);
        boolean power = scale == Math.scalb(1.0, exponent);
        return power && (exponent < 0 || exponent > 24) ? "2^" + exponent : number(scale);
    }

    /** Returns a share from 0 to 1 as per cent, such as {@code 12.3 %}. */
    static String percent(double share) {
        if (share > 0 && share < 0.0005) {
            return "<0.1 %";
        }
        if (share < 1 && share > 0.9995) {
            return ">99.9 %";
        }
        String text = String.format(Locale.ROOT, "%.1f", 100 * share);
        return (text.endsWith(".0") ? text.substring(0, text.length() - 2) : text) + " %";
    }

    /** Returns a time, such as {@code 12.3 ms} or {@code 3 min 5 s}. */
    static String time(double seconds) {
        if (seconds < 60) {
            return seconds < 0.9995e-3
                    ? rounded(1e6 * seconds, 3) + " µs"
                    : seconds < 0.9995 ? rounded(1e3 * seconds, 3) + " ms" : rounded(seconds, 3) + " s";
        }
        long whole = Math.round(seconds);
        return whole < 3600
                ? whole / 60 + " min " + whole % 60 + " s"
                : whole(whole / 3600) + " h " + whole % 3600 / 60 + " min";
    }

    /** Returns bytes, such as {@code 1.23 GB}, which are 10^9. */
    static String bytes(long bytes) {
        return bytes < 1e9
                ? String.format(Locale.ROOT, "%.0f MB", bytes / 1e6)
                : String.format(Locale.ROOT, "%.2f GB", bytes / 1e9);
    }

    /** Returns a number and its noun, such as {@code 1 step} or {@code 2 steps}. */
    static String counted(long count, String noun) {
        return whole(count) + " " + noun + (count == 1 ? "" : "s");
    }
}
