package org.dl4jamp.inspect.report;

import java.util.List;
import java.util.Optional;
import org.dl4jamp.listeners.NumberStatistics;

/**
 * The numbers of the layers in the last look.
 *
 * @param iteration the one that was looked at
 * @param rows one for each layer
 * @param scaled whether layers have scales of their own
 */
record LayerTable(String iteration, List<Row> rows, boolean scaled) {
    /**
     * A layer.
     *
     * @param scale the scale of its own, with the range that it had; empty if it has none
     */
    record Row(String layer, Cells output, Cells gradient, String scale) {}

    /** The numbers of one array; all empty if it wasn't seen. */
    record Cells(String type, String largest, String zero, String subnormal, String near) {
        static final Cells NONE = new Cells("", "", "", "", "");

        static Cells of(Optional<NumberStatistics> numbers) {
            return numbers.map(of -> new Cells(
                            of.type().toString(),
                            Numbers.number(of.largest()),
                            Numbers.percent(of.zero()),
                            Numbers.percent(of.subnormal()),
                            Numbers.percent(of.nearOverflow() + of.nonFinite())))
                    .orElse(NONE);
        }
    }

    static LayerTable of(LayerTimeline timeline) {
        List<Row> rows = timeline.last().stream()
                .map(layer -> new Row(
                        layer.layer(),
                        Cells.of(layer.output()),
                        Cells.of(layer.gradient()),
                        timeline.scale(layer.layer()).map(LayerTable::scale).orElse("")))
                .toList();
        boolean scaled = rows.stream().anyMatch(row -> !row.scale().isEmpty());
        return new LayerTable(Numbers.whole(timeline.lastIteration()), rows, scaled);
    }

    private static String scale(Range scale) {
        String last = Numbers.scale(scale.last());
        return scale.least() == scale.most()
                ? last
                : last + " (" + Numbers.scale(scale.least()) + " to " + Numbers.scale(scale.most()) + ")";
    }
}
