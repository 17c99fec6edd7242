package org.dl4jamp.benchmarks;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
import org.dl4jamp.benchmarks.process.Side;

/** Stock DL4J beside what AUTO chooses, a case in each row. */
final class CaseTable {
    private static final String HEAD = """
            | case | is | stock DL4J, ms | amp, ms | × DL4J | MB, DL4J | MB, amp | AUTO is |
            |---|---|--:|--:|--:|--:|--:|---|
            """;

    private final List<CaseFigures> cases;

    CaseTable(List<CaseFigures> cases) {
        this.cases = List.copyOf(cases);
    }

    /** Returns it in Markdown; a side that couldn't be measured leaves its cells empty. */
    String markdown() {
        return HEAD + cases.stream().map(CaseTable::row).collect(Collectors.joining());
    }

    private static String row(CaseFigures figures) {
        Optional<SideFigures> stock = figures.measured(Side.DL4J_FP32);
        Optional<SideFigures> auto = figures.measured(Side.AMP_AUTO);
        return List.of(
                        figures.name(),
                        figures.description(),
                        stock.map(CaseTable::milliseconds).orElse(""),
                        auto.map(CaseTable::milliseconds).orElse(""),
                        figures.ratio(Side.DL4J_FP32, Side.AMP_AUTO)
                                .map(times -> number("%.2f", times))
                                .orElse(""),
                        stock.map(CaseTable::megabytes).orElse(""),
                        auto.map(CaseTable::megabytes).orElse(""),
                        auto.map(SideFigures::chosen).orElse(""))
                .stream()
                .collect(Collectors.joining(" | ", "| ", " |\n"));
    }

    private static String milliseconds(SideFigures measured) {
        return number("%.1f", 1e3 * measured.secondsPerStep());
    }

    private static String megabytes(SideFigures measured) {
        return measured.peakRssBytes() == null ? "" : number("%.0f", measured.peakRssBytes() / 1e6);
    }

    private static String number(String format, double value) {
        return String.format(Locale.ROOT, format, value);
    }
}
