package org.dl4jamp.inspect.text;

import java.util.Locale;

/** Sizes of memory as text. */
public final class Bytes {
    private static final String[] UNITS = {"B", "KiB", "MiB", "GiB", "TiB"};

    private Bytes() {}

    /** Returns a size with one decimal in the largest unit that it fills, such as {@code 23.5 GiB}. */
    public static String text(long bytes) {
        double value = bytes;
        int unit = 0;
        while (value >= 1024 && unit < UNITS.length - 1) {
            value /= 1024;
            unit++;
        }
        return String.format(Locale.ROOT, unit == 0 ? "%.0f %s" : "%.1f %s", value, UNITS[unit]);
    }
}
