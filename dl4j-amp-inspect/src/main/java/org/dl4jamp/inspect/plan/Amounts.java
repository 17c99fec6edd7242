package org.dl4jamp.inspect.plan;

import java.util.Locale;

/** Numbers as people read them: three digits and a decimal prefix. */
public final class Amounts {
    private static final String[] PREFIXES = {"", "k", "M", "G", "T", "P", "E"};
    private static final int EXACT_BELOW = 1000;

    /** Stands where a number can't be told. */
    public static final String UNKNOWN = "unknown";

    private Amounts() {}

    /** Returns a number with a unit, such as {@code 7.72 GFLOP}; the word "unknown" for null. */
    public static String of(Long amount, String unit) {
        if (amount == null) {
            return UNKNOWN;
        }
        int power = 0;
        double scaled = amount;
        // 999.5 would be printed as 1000.
        while (scaled >= EXACT_BELOW - 0.5 && power < PREFIXES.length - 1) {
            scaled /= 1000;
            power++;
        }
        String digits = power == 0
                ? Long.toString(amount)
                : String.format(Locale.ROOT, scaled < 10 ? "%.2f" : scaled < 100 ? "%.1f" : "%.0f", scaled);
        return (digits + " " + PREFIXES[power] + unit).strip();
    }

    /** Returns a share as percent. */
    public static String percent(double share) {
        return String.format(Locale.ROOT, "%.1f %%", 100 * share);
    }
}
