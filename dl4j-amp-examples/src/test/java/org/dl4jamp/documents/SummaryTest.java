package org.dl4jamp.documents;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.dl4jamp.documents.BenchmarkTables.Table;
import org.junit.jupiter.api.Test;

/**
 * Compares the summaries in the README and in docs/performance.md with the tables in docs/benchmarks.md. With
 * {@code -Ddl4jamp.summary.write=true} it writes them anew.
 */
class SummaryTest {
    private static final String[] INFERENCE = Stream.of(
                    "sine-128", "resnet50", "resnet50-1", "mlp", "lstm", "lstm-step", "lenet-1", "sequences")
            .map(name -> "inference-" + name)
            .toArray(String[]::new);

    @Test
    void readmeHasTheMeasuredFiguresOfTraining() throws IOException {
        String header = """
                | network | stock DL4J | dl4j-amp, FP32 | dl4j-amp, BFLOAT16 | PyTorch, BFLOAT16 | memory, DL4J | memory, dl4j-amp |
                |---|--:|--:|--:|--:|--:|--:|
                """;
        String rows = BenchmarkTables.read().of("all").stream()
                .map(table -> row(
                        table.name(),
                        number(table.millis("dl4j-fp32")),
                        times(table.millis("dl4j-fp32"), table.millis("amp-fp32")),
                        times(table.millis("dl4j-fp32"), table.millis("amp-bf16")),
                        number(table.millis("pytorch-bf16")),
                        number(table.peak("dl4j-fp32")),
                        number(table.peak("amp-bf16"))))
                .collect(Collectors.joining());
        assertSummary(Page.ROOT.resolve("README.md"), "summary of training", header + rows);
    }

    @Test
    void performanceHasTheMeasuredFiguresOfAllCases() throws IOException {
        BenchmarkTables tables = BenchmarkTables.read();
        String header = """
                | | stock DL4J | amp, FP32 | amp, BFLOAT16 | PyTorch | floor | × DL4J | × PyTorch | × floor | MB, DL4J | MB, amp |
                |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
                """;
        String summary = header
                + rows("training", tables.of("all"), "amp-bf16", "floor-bf16", "pytorch-bf16")
                + rows(
                        "training, CPUs without BFLOAT16",
                        tables.of("avx512_core"),
                        "amp-fp32",
                        "floor-fp32",
                        "pytorch-fp32")
                + rows("training, the smallest networks", tables.of("small"), "amp-auto", "floor-bf16", "pytorch-bf16")
                + rows(
                        "training, attention and peepholes",
                        tables.of("sequences"),
                        "amp-bf16",
                        "floor-bf16",
                        "pytorch-fp32",
                        "pytorch-bf16")
                + rows(
                        "inference",
                        tables.of(INFERENCE),
                        "amp-bf16",
                        "floor-bf16",
                        "pytorch-fp32",
                        "pytorch-bf16",
                        "pytorch-bf16-weights");
        assertSummary(Page.ROOT.resolve("docs/performance.md"), "summary", summary);
    }

    private static String rows(String group, List<Table> tables, String auto, String floor, String... pytorch) {
        StringBuilder rows = new StringBuilder(row("**" + group + "**", "", "", "", "", "", "", "", "", "", ""));
        for (Table table : tables) {
            OptionalDouble stock = table.millis("dl4j-fp32");
            OptionalDouble amp = table.millis(auto);
            OptionalDouble best = table.fastest(pytorch);
            rows.append(row(
                    table.name(),
                    number(stock),
                    number(table.millis("amp-fp32")),
                    number(table.millis(auto.equals("amp-fp32") ? "amp-bf16" : auto)),
                    number(best),
                    number(table.millis(floor)),
                    number(quotient(stock, amp)),
                    number(quotient(best, amp)),
                    number(quotient(amp, table.millis(floor))),
                    number(table.peak("dl4j-fp32")),
                    number(table.peak(auto))));
        }
        return rows.toString();
    }

    /** Returns a time, and how many times shorter it is than another. */
    private static String times(OptionalDouble stock, OptionalDouble amp) {
        return number(amp) + " (" + number(quotient(stock, amp)) + "×)";
    }

    private static OptionalDouble quotient(OptionalDouble dividend, OptionalDouble divisor) {
        return dividend.isPresent() && divisor.isPresent()
                ? OptionalDouble.of(dividend.getAsDouble() / divisor.getAsDouble())
                : OptionalDouble.empty();
    }

    /** Returns a number with three digits, or with more before the point. */
    private static String number(OptionalDouble number) {
        if (number.isEmpty()) {
            return "";
        }
        double value = number.getAsDouble();
        int decimals = value < 1 ? 3 : value < 10 ? 2 : value < 100 ? 1 : 0;
        return String.format(Locale.ROOT, "%." + decimals + "f", value);
    }

    private static String row(String... cells) {
        return "| " + String.join(" | ", cells) + " |\n";
    }

    private static void assertSummary(Path file, String name, String summary) throws IOException {
        String begin = "<!-- " + name + ": begin -->\n";
        String end = "<!-- " + name + ": end -->\n";
        String page = Files.readString(file);
        int from = page.indexOf(begin) + begin.length();
        int to = page.indexOf(end);
        if (Boolean.getBoolean("dl4jamp.summary.write")) {
            Files.writeString(file, page.substring(0, from) + summary + page.substring(to));
        } else {
            assertEquals(summary, page.substring(from, to));
        }
    }
}
