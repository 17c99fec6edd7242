package org.dl4jamp.benchmarks;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.dl4jamp.benchmarks.dl4j.BenchmarkCase;
import org.dl4jamp.benchmarks.dl4j.BenchmarkCases;
import org.dl4jamp.benchmarks.side.Schedule;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code amp bench}: what a training step takes in stock DL4J, in mixed precision, in PyTorch, and at the least. */
@Command(
        name = "bench",
        mixinStandardHelpOptions = true,
        versionProvider = Versions.class,
        description = {
            "Measures a training step of the same network, from the same weights on the same batch, on all sides: stock DL4J, DL4J with its"
                    + " own oneDNN helpers, dl4j-amp, PyTorch, and the oneDNN primitives alone.",
            "Each side runs in its own process, in turn."
        },
        footer = {
            "",
            "Times are medians after warm-up; 'spread' is the largest median of a repetition minus the smallest, in ms.",
            "'floors' is a side's time in multiples of the oneDNN primitives alone in its precision.",
            "Exit codes: 0 success, 1 failure, 2 wrong usage."
        })
public final class BenchCommand implements Callable<Integer> {
    private static final ObjectMapper JSON = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

    @Parameters(
            paramLabel = "CASE",
            description =
                    "sine-64, sine-128, sine-256 (or sine-N for another grid), resnet50, mlp, lstm, lenet, or all of these;"
                            + " or iris, mlp-small, lstm-32, lenet-1, the smallest networks, or small for these.")
    private String caseName;

    @Option(
            names = "--sides",
            split = ",",
            paramLabel = "SIDE",
            description =
                    "Which sides, separated by commas (default: all of dl4j-fp32, dl4j-helpers-fp32, amp-auto, amp-fp32, amp-bf16,"
                            + " pytorch-fp32, pytorch-bf16, floor-fp32, floor-bf16).")
    private List<String> sideKeys;

    @Option(
            names = "--repetitions",
            defaultValue = "5",
            paramLabel = "N",
            description = "Processes of each side (default: ${DEFAULT-VALUE}).")
    private int repetitions;

    @Option(
            names = "--warmup",
            paramLabel = "N",
            description = "Steps before measuring, at least (default: the case's).")
    private Integer warmUp;

    @Option(
            names = "--steps",
            paramLabel = "N",
            description = "Measured steps of a repetition, at least (default: the case's).")
    private Integer steps;

    @Option(
            names = "--seconds",
            paramLabel = "S",
            description = "Time of the measured steps, at least (default: the case's).")
    private Double seconds;

    @Option(
            names = "--warmup-seconds",
            paramLabel = "S",
            description = {
                "Time of the steps before measuring, at least (default: the case's).",
                "It goes on for up to three times as long while HotSpot compiles, whose threads and those of the native libraries share"
                        + " the processors."
            })
    private Double warmUpSeconds;

    @Option(
            names = "--threads",
            paramLabel = "N",
            description = "Threads of the native libraries, on all sides (default: as many as there are processors).")
    private int threads = Runtime.getRuntime().availableProcessors();

    @Option(
            names = "--time-limit",
            defaultValue = "900",
            paramLabel = "S",
            description = "The most seconds for one repetition of a side (default: ${DEFAULT-VALUE}).")
    private int timeLimit;

    @Option(
            names = "--profile",
            description = {
                "Records where a step's time goes, in one repetition of each side (default: of amp-fp32 and amp-bf16).",
                "Of DL4J's sides and ours; recording costs a little time itself."
            })
    private boolean profile;

    @Option(names = "--json", paramLabel = "FILE", description = "Where to write the figures, as JSON.")
    private Path json;

    @Option(
            names = "--markdown",
            paramLabel = "FILE",
            description = {
                "Where to write the tables, as Markdown (default of 'all': benchmarks.md).",
                "In a file with the lines '<!-- amp bench PLACE: begin -->' and '<!-- amp bench PLACE: end -->', what is between"
                        + " them is replaced; a file that has places, but not this one, is left alone."
            })
    private Path markdown;

    @Option(
            names = "--place",
            paramLabel = "PLACE",
            description = "Which place of that file (default: CASE, such as small).")
    private String place;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException, InterruptedException {
        List<Side> sides = sides();
        List<BenchmarkCase> cases = cases();
        requireAtLeast("--repetitions", repetitions, 1);
        requireAtLeast("--warmup", warmUp == null ? 1 : warmUp, 0);
        requireAtLeast("--steps", steps == null ? 1 : steps, 1);
        requireAtLeast("--threads", threads, 1);
        requireAtLeast("--time-limit", timeLimit, 1);
        requireNotNegative("--seconds", seconds);
        requireNotNegative("--warmup-seconds", warmUpSeconds);
        if (markdown == null && caseName.equals("all")) {
            markdown = Path.of("benchmarks.md");
        }
        requireWritable("--json", json);
        requireWritable("--markdown", markdown);
        requirePlace();

        PrintWriter out = spec.commandLine().getOut();
        PrintWriter err = spec.commandLine().getErr();
        Benchmark benchmark = new Benchmark(
                new SideProcess(ClassPaths.ofThisProcess(), threads, Duration.ofSeconds(timeLimit), profile),
                sides,
                profile ? 1 : repetitions,
                threads,
                profile,
                err);
        List<CaseFigures> done = new ArrayList<>();
        boolean failed = false;
        for (BenchmarkCase each : cases) {
            try {
                CaseFigures figures = benchmark.run(each, schedule(each));
                done.add(figures);
                out.println();
                out.println(profile ? ProfileTable.text(figures) : new FigureTable(figures).text());
                Losses.disagreements(figures).forEach(warning -> out.println("Warning: " + warning));
                out.flush();
                failed |= figures.sides().values().stream().noneMatch(SideFigures::isAvailable);
                write(done);
            } catch (IllegalStateException e) {
                failed = true;
                err.println("amp: " + e.getMessage());
                err.flush();
            }
        }
        return failed ? ExitCode.SOFTWARE : ExitCode.OK;
    }

    private void write(List<CaseFigures> done) throws IOException {
        if (json != null) {
            Object figures = BenchmarkCases.isGroup(caseName) ? done : done.get(0);
            Files.writeString(json, JSON.writeValueAsString(figures) + System.lineSeparator());
        }
        if (markdown != null) {
            MarkdownReport.write(markdown, place(), MarkdownReport.of(done));
        }
    }

    private Schedule schedule(BenchmarkCase benchmark) {
        Schedule usual = benchmark.schedule();
        return new Schedule(
                warmUp == null ? usual.warmUpSteps() : warmUp,
                warmUpSeconds == null ? usual.warmUpSeconds() : warmUpSeconds,
                steps == null ? usual.steps() : steps,
                seconds == null ? usual.seconds() : seconds);
    }

    private List<Side> sides() {
        if (sideKeys == null) {
            return profile ? List.of(Side.AMP_FP32, Side.AMP_BF16) : List.of(Side.values());
        }
        List<Side> sides;
        try {
            sides = sideKeys.stream().map(Side::named).distinct().sorted().toList();
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), "--sides: " + e.getMessage(), e);
        }
        for (Side side : sides) {
            if (profile && !side.hasProfile()) {
                throw new ParameterException(
                        spec.commandLine(),
                        "--profile: there is none of " + side.key() + ", only of DL4J's sides and ours");
            }
        }
        return sides;
    }

    private List<BenchmarkCase> cases() {
        try {
            return BenchmarkCases.of(caseName);
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), e.getMessage(), e);
        }
    }

    private void requireAtLeast(String option, int value, int least) {
        if (value < least) {
            throw new ParameterException(spec.commandLine(), option + " " + value + ": must be at least " + least);
        }
    }

    private void requireNotNegative(String option, Double value) {
        if (value != null && !(value >= 0)) {
            throw new ParameterException(spec.commandLine(), option + " " + value + ": must be at least 0");
        }
    }

    private String place() {
        return place == null ? caseName : place;
    }

    private void requirePlace() throws IOException {
        if (markdown == null) {
            if (place != null) {
                throw new ParameterException(
                        spec.commandLine(), "--place " + place + ": of which file? Name it with --markdown FILE");
            }
            return;
        }
        List<String> places = MarkdownReport.places(markdown);
        if (!places.isEmpty() && !places.contains(place())) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--markdown " + markdown + ": it has places for " + String.join(", ", places) + ", none for "
                            + place() + "; choose one of them with --place, or add the lines '"
                            + MarkdownReport.begin(place()) + "' and '" + MarkdownReport.end(place()) + "'");
        }
    }

    private void requireWritable(String option, Path file) {
        if (file == null) {
            return;
        }
        boolean isNew = Files.notExists(file);
        try {
            Files.newOutputStream(file, StandardOpenOption.CREATE, StandardOpenOption.APPEND)
                    .close();
            if (isNew) {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new ParameterException(spec.commandLine(), option + " " + file + ": can't be written (" + e + ")", e);
        }
    }
}
