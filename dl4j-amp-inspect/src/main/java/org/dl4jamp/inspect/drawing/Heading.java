package org.dl4jamp.inspect.drawing;

import com.mxgraph.util.mxRectangle;
import com.mxgraph.view.mxGraph;
import java.util.ArrayList;
import java.util.List;
import org.dl4jamp.inspect.plan.Amounts;
import org.dl4jamp.inspect.plan.NetworkPlan;
import org.dl4jamp.inspect.plan.NetworkPlan.Totals;

/** Title, sums and legend above a drawing, and the paper behind it. */
final class Heading {
    private static final int MARGIN = 18;
    private static final int LINE = 19;
    private static final int SWATCH = 26;
    private static final int GAP = 60;

    private final NetworkPlan plan;
    private final mxGraph graph;

    private Heading(NetworkPlan plan, mxGraph graph) {
        this.plan = plan;
        this.graph = graph;
    }

    /**
     * Adds them.
     *
     * @param drawn the bounds of what is drawn
     */
    static void add(NetworkPlan plan, String title, mxGraph graph, mxRectangle drawn) {
        new Heading(plan, graph).add(title, drawn);
    }

    private void add(String title, mxRectangle drawn) {
        List<String> lines = lines();
        List<Entry> legend = legend();
        int textWidth = Math.max(
                Look.boldWidth(title) * 3 / 2,
                lines.stream().mapToInt(Look::width).max().orElse(0));
        int legendWidth = SWATCH
                + 8
                + legend.stream()
                        .mapToInt(entry -> Look.width(entry.text()))
                        .max()
                        .orElse(0);
        boolean beside = drawn.getWidth() >= textWidth + GAP + legendWidth;
        int textHeight = 28 + lines.size() * LINE;
        int legendHeight = legend.size() * LINE + 8;
        int height = (beside ? Math.max(textHeight, legendHeight) : textHeight + legendHeight) + 24;

        double left = drawn.getX();
        double top = drawn.getY() - height;
        text(title, left, top, textWidth, Look.label("left", 16) + "fontStyle=1");
        double y = top + 28;
        for (String line : lines) {
            text(line, left, y, textWidth, Look.label("left", Look.FONT_SIZE));
            y += LINE;
        }
        double x = beside ? left + textWidth + GAP : left;
        y = beside ? top + 4 : y + 8;
        for (Entry entry : legend) {
            double inset = (LINE - entry.height()) / 2.0;
            graph.insertVertex(
                    null,
                    null,
                    null,
                    x + (SWATCH - entry.width()) / 2.0,
                    y + inset,
                    entry.width(),
                    entry.height(),
                    entry.style());
            text(entry.text(), x + SWATCH + 8, y, legendWidth, Look.label("left", Look.FONT_SIZE));
            y += LINE;
        }
        addPaper(left, top, Math.max(drawn.getWidth(), beside ? 0 : Math.max(textWidth, legendWidth)), drawn);
    }

    private void addPaper(double left, double top, double width, mxRectangle drawn) {
        Object paper = graph.insertVertex(
                null,
                null,
                null,
                left - MARGIN,
                top - MARGIN,
                width + 2 * MARGIN,
                drawn.getY() + drawn.getHeight() - top + 2 * MARGIN,
                "fillColor=#ffffff;strokeColor=none");
        graph.orderCells(true, new Object[] {paper});
    }

    private void text(String text, double x, double y, double width, String style) {
        graph.insertVertex(null, null, text, x, y, width, LINE, style);
    }

    private List<String> lines() {
        Totals totals = plan.totals();
        List<String> lines = new ArrayList<>();
        lines.add(Look.name(plan.precision()) + " on engine " + plan.engine() + ", batch " + plan.batch()
                + (plan.timesteps() == null ? "" : ", " + plan.timesteps() + " time steps"));
        lines.add(Amounts.of(totals.parameters(), "") + " parameters, " + Amounts.of(totals.flops(), "FLOP")
                + " forward"
                + (plan.precision().isHalf()
                        ? ", " + Amounts.percent(totals.halfShare()) + " of them in " + plan.precision()
                        : ""));
        lines.add("activations in training: " + Amounts.of(totals.floatBytes(), "B") + " in FP32, "
                + Amounts.of(totals.planBytes(), "B") + " in this plan: " + Amounts.percent(totals.savedShare())
                + " less");
        if (totals.layersOfUnknownFlops() > 0) {
            lines.add("FLOP of " + totals.layersOfUnknownFlops() + " layers are unknown and in no sum");
        }
        return lines;
    }

    /** A symbol of the drawing and its meaning. */
    private record Entry(String style, int width, int height, String text) {}

    private List<Entry> legend() {
        List<Entry> entries = new ArrayList<>();
        for (Look look : Look.values()) {
            if (plan.layers().stream().anyMatch(layer -> Look.of(layer) == look)) {
                entries.add(new Entry(look.box(), SWATCH, 13, look.meaning(plan)));
            }
        }
        if (plan.totals().casts() > 0) {
            entries.add(new Entry(Look.CAST, SWATCH, 12, "values are converted between layers"));
        }
        if (!plan.fusions().isEmpty()) {
            entries.add(new Entry(Look.FUSED, 4, 16, "computed in one pass in training"));
        }
        return entries;
    }
}
