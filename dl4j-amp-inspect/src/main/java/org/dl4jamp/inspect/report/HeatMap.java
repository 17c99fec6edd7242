package org.dl4jamp.inspect.report;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.dl4jamp.inspect.report.LayerTimeline.Cell;
import org.dl4jamp.inspect.report.LayerTimeline.Column;
import org.dl4jamp.inspect.report.LayerTimeline.Share;

/**
 * Shares of numbers by layer and time. Each row is an SVG drawing, one unit high, and as many units wide as there are
 * columns. The page stretches it.
 *
 * @param rows the layers, in the order of the forward pass
 * @param columns number of columns
 * @param horizontal labels of the axis of iterations
 * @param legend the levels, lowest first
 * @param blank whether all shares are zero
 */
record HeatMap(List<Row> rows, int columns, List<Chart.Tick> horizontal, List<Level> legend, boolean blank) {
    /** The smallest share of each level. Below the first one, which is zero, there is no level. */
    private static final double[] LEVELS = {0, 0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75};

    /**
     * A layer.
     *
     * @param last the last share that was seen
     * @param text a sentence with its last and its largest share
     * @param unseen path of the columns in which it wasn't seen
     * @param paths of the levels that occur
     */
    record Row(String layer, String last, String text, String unseen, List<Path> paths) {}

    /** The cells of one level. */
    record Path(int level, String path) {}

    /** An entry of the legend. */
    record Level(int level, String label) {}

    /**
     * Draws one share.
     *
     * @param columns at least one
     * @param share of a cell
     * @param value the number of a share that is drawn
     */
    static HeatMap of(List<Column> columns, Function<Cell, Share> share, Function<Share, Double> value) {
        Set<String> layers = new LinkedHashSet<>();
        for (Column column : columns) {
            column.cells().forEach((layer, cell) -> {
                if (share.apply(cell).isSeen()) {
                    layers.add(layer);
                }
            });
        }
        List<Row> rows = layers.stream()
                .map(layer -> row(layer, shares(columns, layer, share), value))
                .toList();
        Axis axis = Axis.exact(
                columns.get(0).first(), columns.get(columns.size() - 1).last());
        boolean blank = rows.stream().allMatch(row -> row.paths().isEmpty());
        return new HeatMap(rows, columns.size(), Chart.horizontal(axis), levels(), blank);
    }

    private static List<Share> shares(List<Column> columns, String layer, Function<Cell, Share> share) {
        return columns.stream()
                .map(column -> column.cells().get(layer))
                .map(cell -> cell == null ? Share.NONE : share.apply(cell))
                .toList();
    }

    private static Row row(String layer, List<Share> shares, Function<Share, Double> value) {
        double last = 0;
        double most = 0;
        StringBuilder unseen = new StringBuilder();
        List<StringBuilder> levels = new ArrayList<>();
        for (int level = 0; level <= LEVELS.length; level++) {
            levels.add(new StringBuilder());
        }
        for (int begin = 0; begin < shares.size(); ) {
            int end = begin;
            int level = level(shares.get(begin), value);
            while (end < shares.size() && level(shares.get(end), value) == level) {
                if (shares.get(end).isSeen()) {
                    last = value.apply(shares.get(end));
                    most = Math.max(most, shares.get(end).most());
                }
                end++;
            }
            if (level != 0) {
                StringBuilder path = level < 0 ? unseen : levels.get(level);
                path.append('M')
                        .append(begin)
                        .append(" 0h")
                        .append(end - begin)
                        .append("v1H")
                        .append(begin)
                        .append('z');
            }
            begin = end;
        }
        List<Path> paths = new ArrayList<>();
        for (int level = 1; level <= LEVELS.length; level++) {
            if (!levels.get(level).isEmpty()) {
                paths.add(new Path(level, levels.get(level).toString()));
            }
        }
        String text = layer + ": last " + Numbers.percent(last) + ", at most " + Numbers.percent(most);
        return new Row(layer, Numbers.percent(last), text, unseen.toString(), paths);
    }

    /** Returns the level of a share: 0 for none at all, -1 if it wasn't seen. */
    static int level(Share share, Function<Share, Double> value) {
        if (!share.isSeen()) {
            return -1;
        }
        double number = value.apply(share);
        int level = 0;
        while (level < LEVELS.length && number > 0 && number >= LEVELS[level]) {
            level++;
        }
        return level;
    }

    private static List<Level> levels() {
        List<Level> levels = new ArrayList<>();
        levels.add(new Level(0, "none"));
        for (int level = 1; level <= LEVELS.length; level++) {
            levels.add(new Level(
                    level, level == 1 ? "<" + Numbers.percent(LEVELS[1]) : "≥" + Numbers.percent(LEVELS[level - 1])));
        }
        return levels;
    }
}
