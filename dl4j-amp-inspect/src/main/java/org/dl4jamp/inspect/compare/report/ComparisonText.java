package org.dl4jamp.inspect.compare.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.dl4jamp.inspect.compare.Comparison;
import org.dl4jamp.inspect.compare.LayerComparison;
import org.dl4jamp.inspect.compare.ParameterComparison;

/** A comparison as text: the conclusion, then a table of layers and one of parameters. */
public final class ComparisonText {
    private ComparisonText() {}

    /**
     * Returns the text.
     *
     * @param model the model's file or another name
     * @param data the batches, in words
     */
    public static String of(String model, String data, Comparison comparison) {
        List<String> lines = new ArrayList<>(Summary.facts(model, data, comparison));
        lines.add("");
        lines.addAll(comparison.verdict().sentences());
        List<String> trials = Summary.trials(comparison);
        if (!trials.isEmpty()) {
            lines.add("");
            lines.add("Policies that were run with these batches:");
            trials.forEach(trial -> lines.add("  " + trial));
        }
        lines.add("");
        lines.add("Layers: error and cosine of activations, and of the gradients of all parameters of the layer;"
                + " rounded: with rounded weights alone");
        lines.addAll(table(layers(comparison)));
        lines.add("");
        lines.add("Parameters: error and cosine of gradients; underflow: zero in mixed precision, of those that aren't"
                + " zero in FP32");
        lines.addAll(table(parameters(comparison)));
        return String.join(System.lineSeparator(), lines) + System.lineSeparator();
    }

    private static List<List<String>> layers(Comparison comparison) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of(
                "layer",
                "class",
                "precision",
                "activations",
                "rounded",
                "cosine",
                "gradients",
                "rounded",
                "cosine",
                "underflow",
                "near overflow"));
        for (LayerComparison layer : comparison.layers()) {
            rows.add(List.of(
                    layer.layer(),
                    layer.className(),
                    layer.precision(),
                    layer.computedWith().map(then -> "with " + then).orElseGet(() -> Cells.mixed(layer.activations())),
                    Cells.rounded(layer.activations()),
                    Cells.cosine(layer.activations()),
                    Cells.mixed(layer.gradients()),
                    Cells.rounded(layer.gradients()),
                    Cells.cosine(layer.gradients()),
                    layer.gradients()
                            .map(of -> Cells.share(of.mixed().vanished()))
                            .orElse(""),
                    Cells.share(layer.nearOverflow())));
        }
        return rows;
    }

    private static List<List<String>> parameters(Comparison comparison) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("layer", "parameter", "gradients", "rounded", "cosine", "underflow"));
        for (LayerComparison layer : comparison.layers()) {
            for (ParameterComparison parameter : layer.parameters()) {
                rows.add(List.of(
                        layer.layer(),
                        parameter.parameter(),
                        Cells.mixed(Optional.of(parameter.gradients())),
                        Cells.rounded(Optional.of(parameter.gradients())),
                        Cells.cosine(Optional.of(parameter.gradients())),
                        Cells.share(parameter.gradients().mixed().vanished())));
            }
        }
        return rows;
    }

    private static List<String> table(List<List<String>> rows) {
        int[] widths = new int[rows.get(0).size()];
        for (List<String> row : rows) {
            for (int i = 0; i < widths.length; i++) {
                widths[i] = Math.max(widths[i], row.get(i).length());
            }
        }
        return rows.stream()
                .map(row -> {
                    StringBuilder line = new StringBuilder();
                    for (int i = 0; i < widths.length; i++) {
                        line.append(String.format("%-" + (widths[i] + 2) + "s", row.get(i)));
                    }
                    return line.toString().stripTrailing();
                })
                .toList();
    }
}
