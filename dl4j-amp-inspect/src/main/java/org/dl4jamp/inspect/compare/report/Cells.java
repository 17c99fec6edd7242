package org.dl4jamp.inspect.compare.report;

import java.util.Locale;
import java.util.Optional;
import org.dl4jamp.inspect.compare.Compared;
import org.dl4jamp.inspect.compare.numbers.Difference;

/** Numbers as tables show them. */
final class Cells {
    private Cells() {}

    /** Returns an error; one of numbers that aren't finite in mixed precision is {@code overflow}. */
    static String error(Difference difference) {
        if (difference.overflows()) {
            return "overflow";
        }
        return number(difference.error());
    }

    static String error(Optional<Difference> difference) {
        return difference.map(Cells::error).orElse("");
    }

    static String rounded(Optional<Compared> compared) {
        return error(compared.flatMap(Compared::rounded));
    }

    static String mixed(Optional<Compared> compared) {
        return error(compared.map(Compared::mixed));
    }

    static String cosine(Optional<Compared> compared) {
        return compared.map(of -> cosine(of.mixed())).orElse("");
    }

    static String cosine(Difference difference) {
        return Double.isFinite(difference.cosine()) ? String.format(Locale.ROOT, "%.5f", difference.cosine()) : "";
    }

    static String number(double number) {
        if (Double.isNaN(number)) {
            return "NaN";
        }
        return Double.isInfinite(number) ? "infinite" : String.format(Locale.ROOT, "%.2g", number);
    }

    static String share(double share) {
        return String.format(Locale.ROOT, "%.2f %%", 100 * share);
    }

    /** Returns a loss scale or a loss. */
    static String value(double number) {
        return number == Math.rint(number) && Math.abs(number) < 1e15
                ? String.format(Locale.ROOT, "%.0f", number)
                : String.format(Locale.ROOT, "%.6g", number);
    }
}
