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
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import org.dl4jamp.benchmarks.cases.BenchmarkCase;
import org.dl4jamp.benchmarks.cases.BenchmarkCases;
import org.dl4jamp.benchmarks.process.ClassPaths;
import org.dl4jamp.benchmarks.process.Side;
import org.dl4jamp.benchmarks.process.SideProcesses;
import org.dl4jamp.benchmarks.side.Records;
import org.dl4jamp.benchmarks.side.Task;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * {@code amp bench}: what a training step, or a pass in inference mode, takes in stock DL4J, in mixed precision, in
 * PyTorch, and at the least.
 */
@Command(
        name = "bench",
        mixinStandardHelpOptions = true,
        versionProvider = Versions.class,
        description = {
            "Measures a training step, or with --inference a pass, of the same network, from the same weights on the"
                    + " same batch, on all sides: stock DL4J, DL4J with its"
                    + " own oneDNN helpers, dl4j-amp, PyTorch, and the oneDNN primitives alone.",
            "Each side runs in its own process, in turn."
        },
        footer = {
            "",
            "Times are medians after warm-up; 'spread' is the largest median of a repetition minus the smallest, in"
                    + " ms.",
            "'others' is the largest share of the processors' time that other processes and machines took meanwhile.",
            "'floors' is a side's time in multiples of the oneDNN primitives alone in its precision.",
            "Exit codes: 0 success, 1 failure, 2 wrong usage."
        })
public final class BenchCommand implements Callable<Integer> {
    private static final ObjectMapper JSON = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

    @Parameters(
            paramLabel = "CASE",
            description =
                    "sine-64, sine-128, sine-256 (or sine-N for another grid), resnet50, mlp, lstm, lenet, or all of"
                            + " these; or attention, attention-512, textgen, or sequences for these;"
                            + " or unet;"
                            + " or iris, mlp-small, lstm-32, lenet-1, the smallest networks, or small for these;"
                            + " or zoo for all networks of DL4J's zoo, or zoo-NAME for one, such as zoo-vgg16.")
    private String caseName;

    @Option(
            names = "--inference",
            description = {
                "Measures inference: DL4J's output, this project's MixedPrecision.inference, PyTorch's evaluation in"
                        + " inference mode, and oneDNN's"
                        + " primitives with batch normalization, ReLU and sums fused.",
                "'all' are then sine-128, resnet50, resnet50 with batch 1, mlp, lstm, lstm-step (lstm one time step"
                        + " at a time), and lenet with batch 1."
            })
    private boolean inference;

    @Option(
            names = "--batch",
            paramLabel = "N",
            description = "Examples of the batch, with --inference (default: the case's).")
    private Integer batch;

    @Mixin
    private SideOptions sideOptions;

    @Option(
            names = "--repetitions",
            defaultValue = "5",
            paramLabel = "N",
            description = "Processes of each side (default: ${DEFAULT-VALUE}).")
    private int repetitions;

    @Mixin
    private ScheduleOptions schedules;

    @Option(
            names = "--threads",
            paramLabel = "N",
            description = "Threads of the native libraries, on all sides (default: as many as there are processors).")
    private int threads = Runtime.getRuntime().availableProcessors();

    @Option(
            names = "--other-load",
            defaultValue = "0.05",
            paramLabel = "SHARE",
            description = {
                "Repeats a repetition, twice at most, in which others took more than this share of the processors' time"
                        + " (default: ${DEFAULT-VALUE}; 1 repeats none).",
                "Others are processes, and virtual machines on the same host (/proc/stat, in Linux)."
            })
    private double otherLoad;

    @Option(
            names = "--time-limit",
            defaultValue = "900",
            paramLabel = "S",
            description = "The most seconds for one repetition of a side (default: ${DEFAULT-VALUE}).")
    private int timeLimit;

    @Mixin
    private RecordOptions recordOptions;

    @Option(names = "--json", paramLabel = "FILE", description = "Where to write the figures, as JSON.")
    private Path json;

    @Option(
            names = "--markdown",
            paramLabel = "FILE",
            description = {
                "Where to write the tables, as Markdown (default of 'all': benchmarks.md).",
                "In a file with the lines '<!-- amp bench PLACE: begin -->' and '<!-- amp bench PLACE: end -->', what"
                        + " is between"
                        + " them is replaced; a file that has places, but not this one, is left alone."
            })
    private Path markdown;

    @Option(
            names = "--place",
            paramLabel = "PLACE",
            description = "Which place of that file (default: CASE, such as small, or inference-CASE, or"
                    + " inference-CASE-BATCH).")
    private String place;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException, InterruptedException {
        List<BenchmarkCase> cases = cases();
        Records records = recordOptions.records();
        List<Side> sides = sideOptions.of(cases, inference ? Task.INFERENCE : Task.TRAINING, records);
        requireAtLeast("--repetitions", repetitions, 1);
        schedules.validate(records);
        requireAtLeast("--batch", batch == null ? 1 : batch, 1);
        requireAtLeast("--threads", threads, 1);
        requireAtLeast("--time-limit", timeLimit, 1);
        // Negated, so that NaN isn't enough.
        if (!(otherLoad >= 0 && otherLoad <= 1)) {
            throw new ParameterException(
                    spec.commandLine(), "--other-load " + otherLoad + ": must be from 0 to 1, such as 0.05");
        }
        if (markdown == null && caseName.equals("all") && !inference) {
            markdown = Path.of("benchmarks.md");
        }
        requireWritable("--json", json);
        requireWritable("--markdown", markdown);
        requirePlace();

        PrintWriter out = spec.commandLine().getOut();
        PrintWriter err = spec.commandLine().getErr();
        Benchmark benchmark = new Benchmark(
                new SideProcesses(ClassPaths.ofThisProcess(), threads, Duration.ofSeconds(timeLimit), records),
                sides,
                recordOptions.repetitions(repetitions),
                threads,
                records,
                inference,
                otherLoad,
                err);
        List<CaseFigures> done = new ArrayList<>();
        boolean failed = false;
        for (BenchmarkCase each : cases) {
            try {
                CaseFigures figures = benchmark.run(each, schedules.of(each.schedule()));
                done.add(figures);
                out.println();
                out.println(recordOptions.text(figures));
                Agreement.disagreements(figures).forEach(warning -> out.println("Warning: " + warning));
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
            String text = JSON.writeValueAsString(figures) + System.lineSeparator();
            writable("--json", json, () -> Files.writeString(json, text));
        }
        if (markdown != null) {
            writable(
                    "--markdown",
                    markdown,
                    () -> MarkdownReport.write(
                            markdown, place(), recordOptions.markdown(done, BenchmarkCases.isZoo(caseName))));
        }
    }

    private List<BenchmarkCase> cases() {
        if (batch != null && (!inference || BenchmarkCases.isGroup(caseName))) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--batch " + batch + (inference ? ": for one case, not for " + caseName : ": needs --inference"));
        }
        try {
            List<BenchmarkCase> cases =
                    inference ? BenchmarkCases.ofInference(caseName) : BenchmarkCases.ofTraining(caseName);
            return batch == null
                    ? cases
                    : cases.stream().map(each -> each.ofBatch(batch)).toList();
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), e.getMessage(), e);
        }
    }

    private void requireAtLeast(String option, int value, int least) {
        if (value < least) {
            throw new ParameterException(spec.commandLine(), option + " " + value + ": must be at least " + least);
        }
    }

    private String place() {
        if (place != null) {
            return place;
        }
        return (inference ? "inference-" : "") + caseName + (batch == null ? "" : "-" + batch);
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
        if (Collections.frequency(places, place()) > 1) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--markdown " + markdown + ": it has two places with the name " + place()
                            + "; rename one of them, and choose it with --place");
        }
        if (!places.isEmpty() && !places.contains(place())) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--markdown " + markdown + ": it has places for " + String.join(", ", places) + ", none for "
                            + place() + "; choose one of them with --place, or add the lines '"
                            + MarkdownReport.begin(place()) + "' and '" + MarkdownReport.end(place()) + "'");
        }
    }

    /** Something that is done with a file. */
    private interface FileAction {
        void run() throws IOException;
    }

    private void requireWritable(String option, Path file) {
        if (file == null) {
            return;
        }
        boolean isNew = Files.notExists(file);
        writable(option, file, () -> {
            Files.newOutputStream(file, StandardOpenOption.CREATE, StandardOpenOption.APPEND)
                    .close();
            if (isNew) {
                Files.delete(file);
            }
        });
    }

    private void writable(String option, Path file, FileAction action) {
        try {
            action.run();
        } catch (IOException e) {
            throw new ParameterException(spec.commandLine(), option + " " + file + ": can't be written (" + e + ")", e);
        }
    }
}
