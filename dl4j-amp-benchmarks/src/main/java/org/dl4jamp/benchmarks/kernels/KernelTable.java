package org.dl4jamp.benchmarks.kernels;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import org.dl4jamp.benchmarks.side.Profile;

/** The times of kernels of some sides, in ms, each kernel in a row. It's Markdown with columns of one width. */
public final class KernelTable {
    private static final List<String> HEAD = List.of("kernel", "times");

    /** Kernels that take less of each side's time share a row. */
    private static final double LEAST = 0.005;

    private final Map<String, Profile> sides;
    private final List<List<String>> rows = new ArrayList<>();

    private KernelTable(Map<String, Profile> sides) {
        this.sides = sides;
    }

    /**
     * Returns the table, with the most expensive kernels first.
     *
     * @param sides by name; the kernels, and the time of a step or pass of which nothing was recorded
     * @param unit step or pass
     */
    public static String of(Map<String, Profile> sides, String unit) {
        return new KernelTable(sides).markdown(unit);
    }

    private String markdown(String unit) {
        List<String> head = new ArrayList<>(HEAD);
        head.addAll(sides.keySet());
        head.add("implementations of " + sides.keySet().iterator().next());
        rows.add(head);
        Set<String> small = new LinkedHashSet<>();
        for (String name : names()) {
            boolean isSmall = sides.values().stream()
                    .allMatch(side -> seconds(side, Set.of(name)) < LEAST * side.secondsPerStep());
            if (isSmall) {
                small.add(name);
            } else {
                addRow(name, Set.of(name));
            }
        }
        if (!small.isEmpty()) {
            addRow("others, each below " + 100 * LEAST + " %", small);
        }
        addSums("all kernels", KernelTable::sum);
        addSums("between them", side -> side.secondsPerStep() - sum(side));
        addSums("a " + unit, Profile::secondsPerStep);
        return text();
    }

    private List<String> names() {
        Set<String> names = new LinkedHashSet<>();
        sides.values().forEach(side -> side.parts().forEach(part -> names.add(part.what())));
        return names.stream()
                .sorted(Comparator.comparingDouble((String name) -> -sides.values().stream()
                                .mapToDouble(side -> seconds(side, Set.of(name)))
                                .max()
                                .orElseThrow())
                        .thenComparing(Comparator.naturalOrder()))
                .toList();
    }

    private static List<Profile.Part> parts(Profile side, Set<String> names) {
        return side.parts().stream().filter(part -> names.contains(part.what())).toList();
    }

    private static double seconds(Profile side, Set<String> names) {
        return parts(side, names).stream()
                .mapToDouble(Profile.Part::secondsPerStep)
                .sum();
    }

    private static double sum(Profile side) {
        return side.parts().stream().mapToDouble(Profile.Part::secondsPerStep).sum();
    }

    private void addRow(String title, Set<String> names) {
        List<String> row = new ArrayList<>(List.of(title, times(names)));
        sides.values().forEach(side -> row.add(parts(side, names).isEmpty() ? "" : millis(seconds(side, names))));
        Set<String> implementations = parts(sides.values().iterator().next(), names).stream()
                .map(Profile.Part::kind)
                .collect(Collectors.toCollection(TreeSet::new));
        row.add(String.join(", ", implementations));
        rows.add(row);
    }

    /** Returns how often the kernels run in a step, for each side if that differs. */
    private String times(Set<String> names) {
        List<String> times = sides.values().stream()
                .map(side -> parts(side, names).stream()
                        .mapToDouble(Profile.Part::timesPerStep)
                        .sum())
                .map(each -> String.format(Locale.ROOT, "%.0f", each))
                .toList();
        return times.stream().distinct().count() == 1 ? times.get(0) : String.join("/", times);
    }

    private void addSums(String title, ToDoubleFunction<Profile> seconds) {
        List<String> row = new ArrayList<>(List.of(title, ""));
        sides.values().forEach(side -> row.add(millis(seconds.applyAsDouble(side))));
        row.add("");
        rows.add(row);
    }

    private static String millis(double seconds) {
        return String.format(Locale.ROOT, "%.3f", 1e3 * seconds);
    }

    private String text() {
        int columns = rows.get(0).size();
        int[] widths = new int[columns];
        for (List<String> row : rows) {
            for (int column = 0; column < columns; column++) {
                widths[column] = Math.max(widths[column], row.get(column).length());
            }
        }
        StringBuilder text = new StringBuilder(line(rows.get(0), widths));
        List<String> rule = new ArrayList<>();
        for (int column = 0; column < columns; column++) {
            rule.add(isNumber(column, columns) ? "-".repeat(widths[column] - 1) + ":" : "-".repeat(widths[column]));
        }
        text.append(line(rule, widths));
        rows.stream().skip(1).forEach(row -> text.append(line(row, widths)));
        return text.toString();
    }

    private static boolean isNumber(int column, int columns) {
        return column > 0 && column < columns - 1;
    }

    private static String line(List<String> row, int[] widths) {
        StringBuilder line = new StringBuilder("|");
        for (int column = 0; column < widths.length; column++) {
            String padding = " ".repeat(widths[column] - row.get(column).length());
            line.append(' ')
                    .append(isNumber(column, widths.length) ? padding + row.get(column) : row.get(column) + padding)
                    .append(" |");
        }
        return line.append('\n').toString();
    }
}
