package org.dl4jamp.inspect.plan;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import org.dl4jamp.inspect.plan.NetworkPlan.Edge;
import org.dl4jamp.inspect.plan.NetworkPlan.Layer;
import org.dl4jamp.inspect.plan.NetworkPlan.Totals;

/** The text of a plan: a table of its layers, its casts and fusions, and the expected saving. */
public final class PlanTable {
    private static final List<String> HEADINGS = List.of(
            "layer",
            "class",
            "output",
            "parameters",
            "FLOP",
            "computes in",
            "output in",
            "bytes FP32",
            "bytes plan",
            "engine",
            "reason");

    /** Columns with numbers, which are aligned to the right. */
    private static final List<Integer> NUMBERS = List.of(3, 4, 7, 8);

    private PlanTable() {}

    /**
     * Returns the text, with a line break at its end.
     *
     * @param title the network's name, such as that of its file
     */
    public static String of(NetworkPlan plan, String title) {
        List<String> lines = new ArrayList<>();
        lines.add("Plan of " + title + ": " + plan.network() + " with "
                + plan.layers().size() + " layers and vertices");
        lines.add("Precision " + name(plan) + (plan.note().isEmpty() ? "" : " (" + plan.note() + ")"));
        lines.add("Input "
                + plan.inputs().stream()
                        .map(input -> "\"" + input.name() + "\" " + input.shape())
                        .collect(Collectors.joining(", "))
                + "; batch " + plan.batch()
                + (plan.timesteps() == null
                        ? ""
                        : "; sequences of " + plan.timesteps() + " time steps where --input has no number"));
        lines.add("");
        addTable(plan, lines);
        lines.add("");
        addCasts(plan, lines);
        addFusions(plan, lines);
        addSaving(plan, lines);
        return String.join(System.lineSeparator(), lines) + System.lineSeparator();
    }

    private static String name(NetworkPlan plan) {
        return plan.precision() + " on engine " + plan.engine();
    }

    private static void addTable(NetworkPlan plan, List<String> lines) {
        List<List<String>> cells = new ArrayList<>();
        cells.add(HEADINGS);
        plan.layers().forEach(layer -> cells.add(cells(layer)));
        Totals totals = plan.totals();
        cells.add(List.of(
                "total",
                "",
                "",
                Amounts.of(totals.parameters(), ""),
                Amounts.of(totals.flops(), ""),
                "",
                "",
                Amounts.of(totals.floatBytes(), "B"),
                Amounts.of(totals.planBytes(), "B"),
                "",
                ""));
        StringBuilder format = new StringBuilder();
        for (int column = 0; column < HEADINGS.size() - 1; column++) {
            int i = column;
            int width =
                    cells.stream().mapToInt(row -> row.get(i).length()).max().orElseThrow();
            format.append(NUMBERS.contains(column) ? "%" + width + "s  " : "%-" + width + "s  ");
        }
        format.append("%s");
        cells.forEach(row -> lines.add(
                String.format(Locale.ROOT, format.toString(), row.toArray()).stripTrailing()));
    }

    private static List<String> cells(Layer layer) {
        return List.of(
                layer.name(),
                layer.className(),
                Objects.requireNonNullElse(layer.shape(), Amounts.UNKNOWN),
                layer.parameters() == 0 ? "-" : Amounts.of(layer.parameters(), ""),
                Amounts.of(layer.flops(), ""),
                layer.precision().toString(),
                layer.output().toString(),
                Amounts.of(layer.floatBytes(), "B"),
                Amounts.of(layer.planBytes(), "B"),
                layer.engine(),
                layer.reason());
    }

    private static void addCasts(NetworkPlan plan, List<String> lines) {
        List<Edge> casts =
                plan.edges().stream().filter(edge -> edge.cast() != null).toList();
        lines.add("Casts between layers: " + (casts.isEmpty() ? "none" : casts.size()));
        casts.stream()
                .collect(Collectors.groupingBy(
                        edge -> "  " + edge.cast().from() + " to " + edge.cast().to() + ": ",
                        LinkedHashMap::new,
                        Collectors.mapping(
                                edge -> "\"" + edge.from() + "\" -> \"" + edge.to() + "\"", Collectors.joining(", "))))
                .entrySet()
                .stream()
                .map(entry -> entry.getKey() + entry.getValue())
                .forEach(lines::add);
    }

    private static void addFusions(NetworkPlan plan, List<String> lines) {
        Map<String, String> classes = plan.layers().stream().collect(Collectors.toMap(Layer::name, Layer::className));
        lines.add("Fusions in training: "
                + (plan.fusions().isEmpty() ? "none" : plan.fusions().size()));
        plan.fusions().stream()
                .collect(Collectors.groupingBy(
                        fusion -> classes.get(fusion.first()) + " with " + classes.get(fusion.then()),
                        LinkedHashMap::new,
                        Collectors.counting()))
                .forEach((pair, number) -> lines.add("  " + pair + ": " + number));
    }

    private static void addSaving(NetworkPlan plan, List<String> lines) {
        Totals totals = plan.totals();
        lines.add("Activations in training: " + Amounts.of(totals.floatBytes(), "B") + " in FP32, "
                + Amounts.of(totals.planBytes(), "B") + " in this plan, " + Amounts.percent(totals.savedShare())
                + " less");
        lines.add("Forward pass: " + Amounts.of(totals.flops(), "FLOP") + ", "
                + Amounts.percent(totals.halfShare())
                + (plan.precision().isHalf() ? " of them in " + plan.precision() : " of them in half precision"));
        if (totals.layersOfUnknownFlops() > 0) {
            lines.add("FLOP of " + totals.layersOfUnknownFlops() + " of the layers are unknown and in no sum"
                    + (totals.layersOfUnknownShape() > 0
                            ? "; bytes of " + totals.layersOfUnknownShape() + " are, too"
                            : ""));
        }
        lines.add("A multiplication with an addition is 2 FLOP; activation functions and losses aren't counted.");
        lines.add("Bytes are outputs that the backward pass needs; gates, masks and working memory aren't counted.");
    }
}
