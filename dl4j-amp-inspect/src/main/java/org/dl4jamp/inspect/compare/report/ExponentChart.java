package org.dl4jamp.inspect.compare.report;

import java.util.Locale;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import org.dl4jamp.inspect.compare.numbers.NumberRange;

/**
 * A histogram of exponents as SVG, with one or two sets of numbers. A bar's height is the share of all numbers. Behind
 * the bars is the range of the data type: white for normal numbers, grey beyond.
 */
final class ExponentChart {
    private static final int WIDTH = 320;
    private static final int HEIGHT = 96;
    private static final int BASE = 76;

    private ExponentChart() {}

    /**
     * Draws.
     *
     * @param title for people who can't see it
     * @param inFp32 numbers in FP32, drawn as an outline; may be empty
     * @param here the other numbers, drawn as bars
     */
    static String svg(String title, Optional<NumberRange> inFp32, NumberRange here) {
        SortedMap<Integer, Long> all = new TreeMap<>(here.exponents());
        inFp32.ifPresent(range -> all.putAll(range.exponents()));
        if (all.isEmpty()) {
            return "<p class=\"none\">all zero or not finite</p>";
        }
        int first = Math.min(all.firstKey() - 1, -16);
        int last = Math.max(all.lastKey() + 1, 8);
        double bar = (double) WIDTH / (last - first + 1);
        double highest =
                Math.max(highest(here), inFp32.map(ExponentChart::highest).orElse(0.0));
        StringBuilder svg = new StringBuilder(String.format(
                Locale.ROOT,
                "<svg viewBox=\"0 0 %d %d\" role=\"img\"><title>%s</title>",
                WIDTH,
                HEIGHT,
                Html.escape(title)));
        beyond(svg, here.type(), first, last, bar);
        here.exponents()
                .forEach((exponent, count) -> rectangle(
                        svg, "bar", (exponent - first) * bar, bar, BASE * count / (here.numbers() * highest)));
        inFp32.ifPresent(range -> range.exponents()
                .forEach((exponent, count) -> rectangle(
                        svg, "line", (exponent - first) * bar, bar, BASE * count / (range.numbers() * highest))));
        int step = Math.max(1, (last - first) / 8);
        for (int exponent = first + step / 2; exponent <= last; exponent += step) {
            svg.append(String.format(
                    Locale.ROOT,
                    "<text x=\"%.1f\" y=\"%d\">2<tspan dy=\"-4\" class=\"power\">%d</tspan></text>",
                    (exponent - first + 0.5) * bar,
                    HEIGHT - 4,
                    exponent));
        }
        return svg.append("</svg>").toString();
    }

    private static double highest(NumberRange range) {
        return range.exponents().values().stream()
                        .mapToDouble(count -> count)
                        .max()
                        .orElse(0)
                / Math.max(1, range.numbers());
    }

    /** Marks the exponents that the type has no normal numbers for. */
    private static void beyond(StringBuilder svg, String type, int first, int last, double bar) {
        if (!type.equals("HALF")) {
            return;
        }
        int smallest = -14;
        int largest = 15;
        if (first < smallest) {
            background(svg, 0, (smallest - first) * bar);
        }
        if (last > largest) {
            background(svg, (largest + 1 - first) * bar, (last - largest) * bar);
        }
    }

    private static void background(StringBuilder svg, double x, double width) {
        svg.append(String.format(
                Locale.ROOT,
                "<rect class=\"beyond\" x=\"%.1f\" y=\"0\" width=\"%.1f\" height=\"%d\"/>",
                x,
                width,
                BASE));
    }

    private static void rectangle(StringBuilder svg, String style, double x, double width, double height) {
        svg.append(String.format(
                Locale.ROOT,
                "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
                style,
                x,
                BASE - height,
                Math.max(0.5, width - 0.5),
                height));
    }
}
