package org.dl4jamp.inspect.report;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Function;
import org.dl4jamp.listeners.LayerStatisticsListener.Layer;
import org.dl4jamp.listeners.LayerWatch;
import org.dl4jamp.listeners.NumberStatistics;

/**
 * The numbers of each layer over time. Each column is one look at first; when there are too many, two neighbours become
 * one.
 */
final class LayerTimeline {
    /** The most columns. */
    static final int MOST = 400;

    /**
     * The numbers of a layer in one look, or in several in a row. Shares are from 0 to 1.
     *
     * @param underflow gradients that are zero or subnormal, the mean of the looks; empty if no gradient was seen
     * @param gradientNear gradients that are near overflow or beyond; sums, means and extremes as above
     * @param outputNear outputs that are near overflow or beyond
     */
    record Cell(Share underflow, Share gradientNear, Share outputNear) {
        static Cell of(Layer layer) {
            return new Cell(
                    layer.gradient()
                            .map(of -> Share.of(of.zero() + of.subnormal()))
                            .orElse(Share.NONE),
                    layer.gradient().map(Cell::near).orElse(Share.NONE),
                    layer.output().map(Cell::near).orElse(Share.NONE));
        }

        private static Share near(NumberStatistics numbers) {
            return Share.of(numbers.nearOverflow() + numbers.nonFinite());
        }

        Cell then(Cell next) {
            return new Cell(
                    underflow.then(next.underflow),
                    gradientNear.then(next.gradientNear),
                    outputNear.then(next.outputNear));
        }
    }

    /** A share in several looks. */
    record Share(int looks, float sum, float most) {
        static final Share NONE = new Share(0, 0, 0);

        static Share of(double share) {
            return new Share(1, (float) share, (float) share);
        }

        boolean isSeen() {
            return looks > 0;
        }

        double mean() {
            return looks == 0 ? 0 : sum / looks;
        }

        Share then(Share next) {
            return new Share(looks + next.looks, sum + next.sum, Math.max(most, next.most));
        }
    }

    /**
     * A look at all layers, or several in a row.
     *
     * @param first iteration of the first one
     * @param last iteration of the last one
     * @param looks how many they are
     * @param cells by the names of the layers
     */
    record Column(int first, int last, long looks, Map<String, Cell> cells) {
        Column then(Column next) {
            Map<String, Cell> both = new LinkedHashMap<>(cells);
            next.cells.forEach((layer, cell) -> both.merge(layer, cell, Cell::then));
            return new Column(first, next.last, looks + next.looks, both);
        }
    }

    private List<Column> columns = new ArrayList<>();
    private long width = 1;
    private List<Layer> last = List.of();
    private int lastIteration;
    private final Map<String, Range> scales = new LinkedHashMap<>();

    /** As {@link #add(int, List, Function)}, of a watch that has ended. */
    void add(int iteration, LayerWatch watch) {
        add(iteration, watch.layers(), watch::scale);
    }

    /**
     * Adds a look.
     *
     * @param iteration the one that was looked at
     * @param scale returns the scale that a layer has chosen for itself
     */
    void add(int iteration, List<Layer> layers, Function<String, OptionalDouble> scale) {
        if (layers.isEmpty()) {
            return;
        }
        last = layers;
        lastIteration = iteration;
        layers.forEach(layer ->
                scale.apply(layer.layer()).ifPresent(one -> scales.merge(layer.layer(), Range.of(one), Range::then)));
        Map<String, Cell> cells = new LinkedHashMap<>();
        layers.forEach(layer -> cells.put(layer.layer(), Cell.of(layer)));
        Column look = new Column(iteration, iteration, 1, cells);
        int end = columns.size() - 1;
        if (end >= 0 && columns.get(end).looks() < width) {
            columns.set(end, columns.get(end).then(look));
            return;
        }
        if (columns.size() == MOST) {
            columns = halved(columns);
            width *= 2;
        }
        columns.add(look);
    }

    private static List<Column> halved(List<Column> columns) {
        List<Column> half = new ArrayList<>();
        for (int i = 0; i < columns.size(); i += 2) {
            half.add(columns.get(i).then(columns.get(i + 1)));
        }
        return half;
    }

    List<Column> columns() {
        return List.copyOf(columns);
    }

    /** Returns the layers of the last look, in the order of the forward pass; none before the first. */
    List<Layer> last() {
        return last;
    }

    int lastIteration() {
        return lastIteration;
    }

    /** Returns the scales that a layer has chosen for itself; empty if it has none of its own. */
    Optional<Range> scale(String layer) {
        return Optional.ofNullable(scales.get(layer));
    }
}
