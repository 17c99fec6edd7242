package org.dl4jamp.benchmarks;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.dl4jamp.benchmarks.process.Side;

/** The figures of a case as rows of text: for a terminal, and for Markdown. */
final class FigureTable {
    /** The text of a column for a side. */
    @FunctionalInterface
    private interface Cell {
        String of(Side side, SideFigures measured);
    }

    private final CaseFigures figures;
    private final Map<String, Cell> columns = new LinkedHashMap<>();

    FigureTable(CaseFigures figures) {
        this.figures = figures;
        boolean inference = figures.task().isInference();
        columns.put("side", (side, measured) -> side.key());
        columns.put(
                "ms/" + figures.task().unit(), (side, measured) -> milliseconds(measured.secondsPerStep(), measured));
        columns.put("spread", (side, measured) -> milliseconds(measured.spread(), measured));
        columns.put("x dl4j-fp32", (side, measured) -> times(figures.ratio(Side.DL4J_FP32, side)));
        if (inference) {
            columns.put(
                    "x best pytorch",
                    (side, measured) ->
                            times(figures.fastestOfPyTorch().flatMap(pytorch -> figures.ratio(pytorch, side))));
            columns.put("x onnxruntime", (side, measured) -> times(figures.ratio(Side.ONNX_RUNTIME_FP32, side)));
        } else {
            columns.put("x pytorch-bf16", (side, measured) -> times(figures.ratio(Side.PYTORCH_BF16, side)));
        }
        columns.put("floors", (side, measured) -> times(side.floor().flatMap(floor -> figures.ratio(side, floor))));
        columns.put(
                "others %",
                (side, measured) -> measured.otherLoad() == null ? "" : number("%.0f", 100 * measured.otherLoad()));
        columns.put("peak MB", (side, measured) -> megabytes(measured.peakRssBytes()));
        if (inference) {
            columns.put("difference", (side, measured) -> number("%.1e", measured.difference()));
        } else {
            columns.put("activation MB", (side, measured) -> megabytes(measured.activationBytes()));
            columns.put("loss", (side, measured) -> number("%.5g", measured.loss()));
        }
    }

    /** Returns the rows in columns, with the unavailable sides below. */
    String text() {
        List<List<String>> rows = rows();
        List<Integer> widths = new ArrayList<>();
        for (int column = 0; column < columns.size(); column++) {
            int index = column;
            widths.add(
                    rows.stream().mapToInt(row -> row.get(index).length()).max().orElse(0));
        }
        StringBuilder text = new StringBuilder(figures.title() + ": " + figures.description() + "\n\n");
        for (List<String> row : rows) {
            StringBuilder line = new StringBuilder(pad(row.get(0), -widths.get(0)));
            for (int column = 1; column < row.size(); column++) {
                line.append("  ").append(pad(row.get(column), widths.get(column)));
            }
            text.append(line.toString().stripTrailing()).append('\n');
        }
        figures.unavailable()
                .forEach((side, reason) ->
                        text.append('\n').append(side).append(" unavailable: ").append(reason));
        chosen().forEach((side, what) ->
                text.append('\n').append(side).append(" is ").append(what));
        return text.toString();
    }

    private static String pad(String cell, int width) {
        return String.format(Locale.ROOT, "%" + width + "s", cell);
    }

    /** Returns a Markdown section. */
    String markdown() {
        StringBuilder text = new StringBuilder("### " + figures.title() + "\n\n" + figures.description() + ".\n\n");
        List<List<String>> rows = rows();
        text.append(line(rows.get(0)));
        text.append(line(rows.get(0).stream()
                .map(cell -> cell.equals(rows.get(0).get(0)) ? "---" : "--:")
                .toList()));
        rows.subList(1, rows.size()).forEach(row -> text.append(line(row)));
        figures.unavailable().forEach((side, reason) -> text.append("\n`")
                .append(side)
                .append("` unavailable: ")
                .append(firstLine(reason))
                .append('\n'));
        chosen().forEach((side, what) ->
                text.append("\n`").append(side).append("` is ").append(what).append(".\n"));
        return text.toString();
    }

    /** Returns the first line of a reason, without the colon in front of more lines. */
    private static String firstLine(String reason) {
        return reason.lines().findFirst().orElse("").replaceFirst(":$", "");
    }

    private static String line(List<String> cells) {
        return cells.stream().collect(Collectors.joining(" | ", "| ", " |\n"));
    }

    private List<List<String>> rows() {
        List<List<String>> rows = new ArrayList<>(List.of(List.copyOf(columns.keySet())));
        for (Side side : Side.values()) {
            figures.measured(side).ifPresent(measured -> rows.add(row(side, measured)));
        }
        return rows;
    }

    private List<String> row(Side side, SideFigures measured) {
        return columns.values().stream().map(cell -> cell.of(side, measured)).toList();
    }

    private Map<String, String> chosen() {
        return figures.sides().entrySet().stream()
                .filter(entry -> entry.getValue().chosen() != null)
                .collect(Collectors.toMap(
                        Map.Entry::getKey, entry -> entry.getValue().chosen()));
    }

    /** A thousandth of a millisecond counts where a step takes one or less. */
    private static String milliseconds(double seconds, SideFigures measured) {
        return number(measured.secondsPerStep() < 1e-3 ? "%.4f" : "%.2f", 1e3 * seconds);
    }

    private static String times(Optional<Double> ratio) {
        return ratio.map(value -> number("%.2f", value)).orElse("");
    }

    private static String megabytes(Long bytes) {
        return bytes == null ? "" : number("%.0f", bytes / 1e6);
    }

    private static String number(String format, double value) {
        return String.format(Locale.ROOT, format, value);
    }
}
