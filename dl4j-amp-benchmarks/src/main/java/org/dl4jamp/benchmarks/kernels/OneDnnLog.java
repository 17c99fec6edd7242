package org.dl4jamp.benchmarks.kernels;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.dl4jamp.benchmarks.side.Profile;
import org.dl4jamp.benchmarks.side.Stopwatch;

/**
 * Reads what oneDNN prints of each primitive that runs, in its verbose mode with timestamps: fields with commas between
 * them, among them its kind, implementation, sizes and time.
 *
 * @see <a href="https://uxlfoundation.github.io/oneDNN/dev_guide_verbose.html">oneDNN's verbose mode</a>
 */
public final class OneDnnLog {
    /** The variable of a process that makes oneDNN print when a primitive begins, in ms. */
    public static final String TIMESTAMPS = "ONEDNN_VERBOSE_TIMESTAMP";

    private static final int TIMESTAMP = 2;

    private static final String BEGIN = "onednn_verbose,";
    private static final String RUNS = "exec";
    private static final Pattern CONVOLUTION = Pattern.compile("mb(\\d+)_(?:g(\\d+))?ic(\\d+)oc(\\d+)_(.*)");
    private static final Pattern AXIS = Pattern.compile("i[dhw]\\d+o[dhw](\\d+)k[dhw](\\d+)");
    private static final Pattern DENSE = Pattern.compile("mb(\\d+)ic(\\d+)((?:i[dhw]\\d+)*)oc(\\d+)");
    private static final Pattern LENGTH = Pattern.compile("\\d+");
    private static final Map<String, String> OTHERS = Map.of(
            "pooling", KernelNames.POOLING,
            "softmax", KernelNames.SOFTMAX,
            "batch_normalization", KernelNames.NORMALIZATION,
            "layer_normalization", KernelNames.NORMALIZATION,
            "lrn", KernelNames.NORMALIZATION,
            "rnn", KernelNames.RECURRENT,
            "eltwise", KernelNames.ACTIVATION,
            "binary", KernelNames.BINARY,
            "sum", KernelNames.BINARY,
            "reorder", KernelNames.COPIES);

    private record Run(double begin, double milliseconds, String implementation, String name) {}

    private OneDnnLog() {}

    /**
     * Reads the kernels of recorded steps from what a process has written. Where one runs beside another, in another
     * thread, that part of its time is the other's.
     */
    public static Profile read(Path log) throws IOException {
        KernelReport report = new KernelReport();
        List<Run> step = new ArrayList<>();
        // Other libraries may write what isn't UTF-8.
        var decoder = StandardCharsets.UTF_8.newDecoder().onMalformedInput(CodingErrorAction.REPLACE);
        try (var reader = new BufferedReader(new InputStreamReader(Files.newInputStream(log), decoder))) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                if (line.equals(Stopwatch.STEP)) {
                    add(step, report);
                    report.endStep();
                    step.clear();
                } else if (line.startsWith(BEGIN)) {
                    run(List.of(line.split(",", -1))).ifPresent(step::add);
                }
            }
        }
        return report.profile();
    }

    private static void add(List<Run> step, KernelReport report) {
        step.sort(Comparator.comparingDouble(Run::begin));
        double end = Double.NEGATIVE_INFINITY;
        for (Run run : step) {
            double last = run.begin() + run.milliseconds();
            double alone = Math.max(0, last - Math.max(run.begin(), end));
            report.add(run.implementation(), run.name(), 1e-3 * alone);
            end = Math.max(end, last);
        }
    }

    /** Returns what a line tells of a run of a kernel; empty if it's about something else. */
    private static Optional<Run> run(List<String> fields) {
        int runs = fields.indexOf(RUNS);
        if (runs < 0) {
            return Optional.empty();
        }
        String pass = fields.get(runs + 4);
        String name = name(fields.get(runs + 2), fields.get(fields.size() - 2))
                + (pass.startsWith("backward") ? ", " + pass.replace('_', ' ') : "");
        return Optional.of(new Run(
                Double.parseDouble(fields.get(TIMESTAMP)),
                Double.parseDouble(fields.get(fields.size() - 1)),
                fields.get(runs + 3),
                name));
    }

    private static String name(String kind, String sizes) {
        return switch (kind) {
            case "convolution", "deconvolution" -> convolution(sizes);
            case "inner_product" -> dense(sizes);
            case "matmul" -> matrices(sizes);
            default -> OTHERS.getOrDefault(kind, kind.replace('_', ' '));
        };
    }

    private static String convolution(String sizes) {
        Matcher all = matched(CONVOLUTION, sizes);
        long positions = Long.parseLong(all.group(1));
        StringBuilder window = new StringBuilder();
        Matcher axis = AXIS.matcher(all.group(5));
        while (axis.find()) {
            positions *= Long.parseLong(axis.group(1));
            window.append(window.isEmpty() ? "" : "×").append(axis.group(2));
        }
        long groups = all.group(2) == null ? 1 : Long.parseLong(all.group(2));
        return KernelNames.product(
                window.toString(), Long.parseLong(all.group(3)), Long.parseLong(all.group(4)), groups, positions);
    }

    private static String dense(String sizes) {
        Matcher all = matched(DENSE, sizes);
        long columns = Long.parseLong(all.group(2));
        Matcher axis = LENGTH.matcher(all.group(3));
        while (axis.find()) {
            columns *= Long.parseLong(axis.group());
        }
        return KernelNames.product(columns, Long.parseLong(all.group(4)), Long.parseLong(all.group(1)));
    }

    /** Returns the name of a product such as {@code 32x256x64:32x64x10}. */
    private static String matrices(String sizes) {
        List<List<Long>> factors = Arrays.stream(sizes.split(":"))
                .map(factor ->
                        Arrays.stream(factor.split("x")).map(Long::valueOf).toList())
                .toList();
        List<Long> one = factors.get(0);
        List<Long> other = factors.get(1);
        long rows = one.subList(0, one.size() - 1).stream().reduce(1L, Math::multiplyExact);
        return KernelNames.product(one.get(one.size() - 1), other.get(other.size() - 1), rows);
    }

    private static Matcher matched(Pattern pattern, String sizes) {
        Matcher matcher = pattern.matcher(sizes);
        if (!matcher.matches()) {
            throw new IllegalArgumentException(
                    "oneDNN printed the sizes '" + sizes + "'; expected is such as " + pattern.pattern());
        }
        return matcher;
    }
}
