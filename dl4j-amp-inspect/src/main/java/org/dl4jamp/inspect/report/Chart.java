package org.dl4jamp.inspect.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.DoubleFunction;
import java.util.function.Function;
import org.dl4jamp.inspect.report.Timeline.Bin;

/**
 * A chart of one figure over the iterations, as SVG paths in a square of {@value #SIZE} units. The page stretches it;
 * labels are text of the page, so that they keep their size on a telephone.
 *
 * @param title what it shows
 * @param alternative a sentence for those who don't see it
 * @param line path of the means
 * @param band path around smallest and largest values; empty where bins are single iterations
 * @param vertical labels of the axis upward
 * @param horizontal labels of the axis of iterations
 * @param marks skipped steps
 */
record Chart(
        String title,
        String alternative,
        String line,
        String band,
        List<Tick> vertical,
        List<Tick> horizontal,
        List<Mark> marks) {
    /** Width and height of the drawing. */
    static final int SIZE = 1000;

    private static final double LARGE_RATIO = 30;

    /** A label, at so many per cent of the axis. */
    record Tick(String at, String label) {}

    /** A skipped step, or several in one bin. */
    record Mark(String at, String text) {}

    /** Draws the loss: logarithmic where it is positive and changes much. */
    static Chart ofLoss(List<Bin> bins) {
        Range all = range(bins, Bin::loss);
        boolean logarithmic = all.least() > 0 && all.most() / all.least() > LARGE_RATIO;
        Axis axis = logarithmic ? Axis.logarithmic(all.least(), all.most(), 10) : Axis.linear(all.least(), all.most());
        return lines("Loss", bins, Bin::loss, axis, Numbers::number, marks(bins));
    }

    /** Draws the loss scale, in steps of powers of two. */
    static Chart ofScale(List<Bin> bins) {
        Range all = range(bins, Bin::scale);
        // Half of the smallest leaves room for the marks.
        Axis axis = Axis.logarithmic(all.least() / 2, all.most(), 2);
        Axis iterations = iterations(bins);
        StringBuilder line = new StringBuilder();
        boolean down = false;
        for (Bin bin : bins) {
            if (bin.scale().isEmpty()) {
                down = false;
                continue;
            }
            String y = up(axis.at(bin.scale().last()));
            String x = place(iterations.at(bin.first()));
            line.append(down ? "H" + x + "V" + y : "M" + x + " " + y)
                    .append("H")
                    .append(place(iterations.at(bin.last())));
            down = true;
        }
        return new Chart(
                "Loss scale",
                alternative("Loss scale", all, Numbers::scale),
                line.toString(),
                "",
                vertical(axis, Numbers::scale),
                horizontal(iterations),
                marks(bins));
    }

    /** Draws the time of an iteration. */
    static Chart ofSeconds(List<Bin> bins) {
        Range all = range(bins, Bin::seconds);
        boolean logarithmic = all.least() > 0 && all.most() / all.least() > LARGE_RATIO;
        Axis axis = logarithmic ? Axis.logarithmic(all.least(), all.most(), 10) : Axis.linear(0, all.most());
        return lines("Time of an iteration", bins, Bin::seconds, axis, Numbers::time, List.of());
    }

    /** Draws the memory of the process. */
    static Chart ofMemory(List<Bin> bins) {
        Axis axis = Axis.linear(0, range(bins, Bin::memory).most());
        return lines(
                "Memory of the process", bins, Bin::memory, axis, bytes -> Numbers.bytes(Math.round(bytes)), List.of());
    }

    private static Chart lines(
            String title,
            List<Bin> bins,
            Function<Bin, Range> figure,
            Axis axis,
            DoubleFunction<String> label,
            List<Mark> marks) {
        Axis iterations = iterations(bins);
        StringBuilder line = new StringBuilder();
        boolean down = false;
        for (Bin bin : bins) {
            Range values = figure.apply(bin);
            if (!values.isEmpty()) {
                line.append(down ? "L" : "M")
                        .append(place(iterations.at(bin.middle())))
                        .append(' ')
                        .append(up(axis.at(values.mean())));
                if (!down) {
                    line.append("h0");
                }
            }
            down = !values.isEmpty();
        }
        return new Chart(
                title,
                alternative(title, range(bins, figure), label),
                line.toString(),
                band(bins, figure, axis, iterations),
                vertical(axis, label),
                horizontal(iterations),
                marks);
    }

    private static String band(List<Bin> bins, Function<Bin, Range> figure, Axis axis, Axis iterations) {
        List<Bin> wide =
                bins.stream().filter(bin -> !figure.apply(bin).isEmpty()).toList();
        if (wide.stream().noneMatch(bin -> figure.apply(bin).count() > 1)) {
            return "";
        }
        StringBuilder band = new StringBuilder();
        for (Bin bin : wide) {
            band.append(band.isEmpty() ? "M" : "L")
                    .append(place(iterations.at(bin.middle())))
                    .append(' ')
                    .append(up(axis.at(figure.apply(bin).most())));
        }
        for (int i = wide.size() - 1; i >= 0; i--) {
            band.append('L')
                    .append(place(iterations.at(wide.get(i).middle())))
                    .append(' ')
                    .append(up(axis.at(figure.apply(wide.get(i)).least())));
        }
        return band.append('Z').toString();
    }

    private static List<Mark> marks(List<Bin> bins) {
        Axis iterations = iterations(bins);
        List<Mark> marks = new ArrayList<>();
        for (Bin bin : bins) {
            if (bin.skipped() > 0) {
                String where = bin.first() == bin.last()
                        ? "Iteration " + Numbers.whole(bin.first())
                        : "Iterations " + Numbers.whole(bin.first()) + " to " + Numbers.whole(bin.last());
                marks.add(new Mark(
                        place(iterations.at(bin.middle())),
                        where + ": " + Numbers.counted(bin.skipped(), "step") + " skipped"));
            }
        }
        return marks;
    }

    private static Range range(List<Bin> bins, Function<Bin, Range> figure) {
        return bins.stream().map(figure).reduce(Range.NONE, Range::then);
    }

    static Axis iterations(List<Bin> bins) {
        return Axis.exact(bins.get(0).first(), bins.get(bins.size() - 1).last());
    }

    private static String alternative(String title, Range all, DoubleFunction<String> label) {
        return title + ": first " + label.apply(all.first()) + ", last " + label.apply(all.last()) + ", smallest "
                + label.apply(all.least()) + ", largest " + label.apply(all.most());
    }

    private static List<Tick> vertical(Axis axis, DoubleFunction<String> label) {
        return axis.ticks().stream()
                .map(value -> new Tick(percent(axis.at(value)), label.apply(value)))
                .toList();
    }

    /** Returns the labels of the axis of iterations; with few iterations only whole ones. */
    static List<Tick> horizontal(Axis axis) {
        return axis.ticks().stream()
                .filter(value -> value == Math.rint(value))
                .map(value -> new Tick(percent(axis.at(value)), Numbers.whole(Math.round(value))))
                .toList();
    }

    private static String percent(double place) {
        return String.format(Locale.ROOT, "%.2f", 100 * place);
    }

    private static String place(double at) {
        return String.format(Locale.ROOT, "%.1f", SIZE * at);
    }

    private static String up(double at) {
        return place(1 - at);
    }
}
