package org.dl4jamp.policy;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** A plan as text. */
final class PlanTable {
    private static final List<String> HEADER = List.of("layer", "class", "precision", "output", "engine", "reason");

    private PlanTable() {}

    static String of(PrecisionPlan plan) {
        List<List<String>> lines = new ArrayList<>();
        lines.add(HEADER);
        for (PrecisionPlan.Row row : plan.rows()) {
            lines.add(List.of(
                    row.name(),
                    row.className(),
                    row.precision().toString(),
                    row.output().toString(),
                    row.engine(),
                    row.reason()));
        }
        int[] widths = new int[HEADER.size() - 1];
        for (List<String> line : lines) {
            for (int i = 0; i < widths.length; i++) {
                widths[i] = Math.max(widths[i], line.get(i).length());
            }
        }
        long half = plan.rows().stream().filter(row -> row.precision().isHalf()).count();
        return "Precision plan: " + plan.precision()
                + (plan.note().isEmpty() ? "" : " (" + plan.note() + ")") + "\n"
                + lines.stream().map(line -> aligned(line, widths)).collect(Collectors.joining("\n"))
                + "\n" + half + " of " + plan.rows().size()
                + (plan.rows().stream().allMatch(PrecisionPlan.Row::layer) ? " layers" : " layers and vertices")
                + " compute in "
                + (half == 0 ? "half precision" : plan.precision());
    }

    private static String aligned(List<String> cells, int[] widths) {
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < cells.size(); i++) {
            line.append(cells.get(i));
            if (i < widths.length) {
                line.append(" ".repeat(widths[i] - cells.get(i).length() + 2));
            }
        }
        return line.toString();
    }
}
