package org.dl4jamp.benchmarks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.dl4jamp.benchmarks.process.ClassPaths;
import org.dl4jamp.benchmarks.process.Side;
import org.dl4jamp.benchmarks.process.SideProcesses;
import org.dl4jamp.benchmarks.side.Records;
import org.dl4jamp.benchmarks.side.Repetition;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

class AmpBenchTest {
    @TempDir
    private Path folder;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @Test
    void helpNamesCasesSidesAndSucceeds() {
        assertEquals(0, run("bench", "--help"));
        assertTrue(out.toString().contains("Usage: amp bench"), out.toString());
        assertTrue(out.toString().contains("resnet50") && out.toString().contains("pytorch-bf16"), out.toString());
    }

    @Test
    void versionNamesWhatIsCompared() {
        assertEquals(0, run("bench", "--version"));
        assertTrue(out.toString().matches("(?s)dl4j-amp \\d.*DL4J 1\\..*PyTorch 2\\..*"), out.toString());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "bench | Missing required parameter: 'CASE'",
                "bench vgg | there is no case vgg: it has to be one of sine-64, sine-128, sine-256, resnet50, mlp,"
                        + " lstm, lenet, attention, attention-512, textgen, unet, iris, mlp-small, lstm-32, lenet-1",
                "bench sine-1 | sine-N for another grid, with N from 2 to 9999, or a group: all, sequences, small, zoo",
                "bench mlp --sides jax | --sides: there is no side jax for training: it has to be one of dl4j-fp32,"
                        + " dl4j-helpers-fp32, amp-auto, amp-fp32",
                "bench mlp --repetitions 0 | --repetitions 0: must be at least 1",
                "bench mlp --repetitions many | Invalid value for option '--repetitions'",
                "bench mlp --warmup -1 | --warmup -1: must be at least 0",
                "bench mlp --warmup-seconds -1 | --warmup-seconds -1.0: must be at least 0",
                "bench mlp --steps 0 | --steps 0: must be at least 1",
                "bench mlp --seconds -1 | --seconds -1.0: must be at least 0",
                "bench mlp --seconds NaN | --seconds NaN: must be at least 0",
                "bench mlp --turns 0 | --turns 0: must be at least 1",
                "bench mlp --turns 2 --kernels | --turns 2: with --kernels or --profile it has to be 1",
                "bench mlp --threads 0 | --threads 0: must be at least 1",
                "bench mlp --other-load 1.5 | --other-load 1.5: must be from 0 to 1",
                "bench mlp --time-limit 0 | --time-limit 0: must be at least 1",
                "bench mlp --json no/such/folder/x.json | --json no/such/folder/x.json: can't be written",
                "bench mlp --markdown . | --markdown .: can't be written",
                "bench mlp --place small | --place small: of which file? Name it with --markdown FILE",
                "bench mlp --kernels --sides dl4j-fp32 | --kernels: there are none of dl4j-fp32",
                "bench mlp --kernels --profile | --profile, --kernels: a run records one of the two",
                "bench mlp --profile --sides pytorch-fp32 | --profile: there is none of pytorch-fp32",
                "bench mlp --epochs 3 | Unknown option",
                "bench mlp --batch 8 | --batch 8: needs --inference",
                "bench all --inference --batch 8 | --batch 8: for one case, not for all",
                "bench mlp --inference --batch 0 | --batch 0: must be at least 1",
                "bench mlp --sides pytorch-bf16-weights | there is no side pytorch-bf16-weights for training",
                "bench mlp --sides onnxruntime-fp32 | there is no side onnxruntime-fp32 for training",
                "bench sequences --inference --batch 8 | --batch 8: for one case, not for sequences",
                "bench lstm-step | the case lstm-step infers only: add --inference",
                "bench zoo --inference | the case zoo trains only: leave out --inference",
                "bench zoo-vgg16 --sides floor-fp32 | --sides: there is no floor-fp32 of zoo-vgg16, only DL4J's sides"
                        + " and ours",
                "bench zoo --sides dl4j-fp32,pytorch-bf16 | --sides: there is no pytorch-bf16 of zoo-alexnet",
            })
    void wrongUsageIsSaidAtOnceAndEndsWithTwo(String arguments, String message) {
        assertEquals(2, run(arguments.split(" ")), err.toString());
        assertTrue(err.toString().startsWith("amp: "), err.toString());
        assertTrue(err.toString().contains(message), err.toString());
        assertTrue(err.toString().lines().count() <= 2, err.toString());
        assertEquals("", out.toString());
    }

    @Test
    void sidesRunInProcessesOfTheirOwnAndOneThatCantRunDoesntStopTheOthers() throws IOException {
        Path json = folder.resolve("figures.json");
        Path markdown = folder.resolve("figures.md");
        int exit = measure(
                2,
                "sine-8",
                "--sides=floor-fp32,dl4j-fp32,amp-fp32,pytorch-fp32,dl4j-helpers-fp32",
                "--other-load=1",
                "--repetitions=2",
                "--json=" + json,
                "--markdown=" + markdown);
        assertEquals(0, exit, err.toString());
        JsonNode figures = new ObjectMapper().readTree(json.toFile());
        assertEquals("sine-8", figures.at("/case").asText());
        assertEquals(1, figures.at("/method/threads").asInt());
        assertEquals(3, figures.at("/method/lossStep").asInt());
        for (String key : List.of(
                "cpu",
                "cores",
                "memoryBytes",
                "instructionSet",
                "os",
                "jdk",
                "dl4j",
                "pytorch",
                "onnxruntime",
                "onednn")) {
            assertFalse(figures.at("/machine/" + key).asText().isEmpty(), key);
        }
        for (String side : List.of("dl4j-fp32", "amp-fp32", "floor-fp32")) {
            JsonNode measured = figures.at("/sides/" + side);
            assertTrue(measured.at("/secondsPerStep").asDouble() > 0, side + " " + measured);
            assertTrue(measured.at("/spread").asDouble() >= 0, side);
            assertTrue(measured.at("/loss").asDouble() > 0, side);
            assertEquals(2, measured.at("/repetitions").asInt(), side);
            assertEquals(4, measured.at("/steps").asInt(), side);
            assertTrue(measured.at("/unavailable").isMissingNode(), side);
        }
        assertTrue(figures.at("/sides/amp-fp32/activationBytes").asLong() > 0);
        assertTrue(figures.at("/sides/floor-fp32/activationBytes").isMissingNode());
        assertTrue(figures.at("/sides/pytorch-fp32/unavailable").asText().contains("dl4j-amp-benchmarks-pytorch"));
        assertTrue(figures.at("/sides/dl4j-helpers-fp32/unavailable").asText().contains("ND4J's build with oneDNN"));
        assertEquals(
                figures.at("/sides/dl4j-fp32/loss").asDouble(),
                figures.at("/sides/amp-fp32/loss").asDouble(),
                1e-3 * figures.at("/sides/dl4j-fp32/loss").asDouble());
        assertTrue(out.toString().contains("amp-fp32"), out.toString());
        assertFalse(out.toString().contains("disagree"), out.toString());
        assertTrue(err.toString().contains("repetition 2 of 2: amp-fp32"), err.toString());
        assertTrue(Files.readString(markdown).contains("| amp-fp32 |"));
    }

    @Test
    void aGroupIsMeasuredCaseByCaseWithWhatAutoStandsFor() throws IOException {
        Path json = folder.resolve("figures.json");
        Path page = folder.resolve("page.md");
        Files.writeString(page, MarkdownReport.begin("old-cpu") + "\n" + MarkdownReport.end("old-cpu"));
        int exit = measure(
                2,
                "small",
                "--sides=dl4j-fp32,amp-auto",
                "--other-load=1",
                "--repetitions=1",
                "--json=" + json,
                "--markdown=" + page,
                "--place=old-cpu");
        assertEquals(0, exit, err.toString());
        JsonNode figures = new ObjectMapper().readTree(json.toFile());
        assertEquals(List.of("iris", "mlp-small", "lstm-32", "lenet-1"), figures.findValuesAsText("case"));
        for (JsonNode each : figures) {
            assertFalse(each.at("/sides/amp-auto/chosen").asText().isEmpty(), each.toString());
            assertEquals(
                    each.at("/sides/dl4j-fp32/loss").asDouble(),
                    each.at("/sides/amp-auto/loss").asDouble(),
                    0.03 * each.at("/sides/dl4j-fp32/loss").asDouble());
        }
        assertTrue(Files.readString(page).contains("### lenet-1"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"zoo-lenet", "zoo-simplecnn", "zoo-textgeneration"})
    void aNetworkOfTheZooIsTrainedInStockDl4jAndInWhatAutoChooses(String name) throws IOException {
        Path json = folder.resolve("figures.json");
        assertEquals(0, measure(1, name, "--other-load=1", "--repetitions=1", "--json=" + json), err.toString());
        JsonNode figures = new ObjectMapper().readTree(json.toFile());
        assertEquals(2, figures.at("/sides").size());
        double loss = figures.at("/sides/dl4j-fp32/loss").asDouble();
        assertTrue(loss > 0, figures.toString());
        assertEquals(loss, figures.at("/sides/amp-auto/loss").asDouble(), 0.03 * loss);
    }

    @Test
    void aPageWithoutAPlaceForTheCaseIsLeftAlone() throws IOException {
        Path page = folder.resolve("page.md");
        String text = MarkdownReport.begin("all") + "\n" + MarkdownReport.end("all");
        Files.writeString(page, text);
        assertEquals(2, run("bench", "small", "--markdown=" + page));
        assertTrue(err.toString().contains("it has places for all, none for small"), err.toString());
        assertEquals(text, Files.readString(page));
    }

    @Test
    void aPageWithThePlaceTwiceIsLeftAlone() throws IOException {
        Path page = folder.resolve("page.md");
        String place = MarkdownReport.begin("small") + "\n" + MarkdownReport.end("small") + "\n";
        Files.writeString(page, place + "## Inference\n" + place);
        assertEquals(2, run("bench", "small", "--markdown=" + page));
        assertTrue(err.toString().contains("it has two places with the name small; rename"), err.toString());
        assertEquals(place + "## Inference\n" + place, Files.readString(page));
    }

    @ParameterizedTest
    @ValueSource(strings = {"--json", "--markdown"})
    @EnabledOnOs(value = OS.LINUX, disabledReason = "/dev/full is Linux's")
    void aFileThatFillsItsDiskIsSaidInOneLineAfterTheFigures(String option) {
        assertEquals(
                2,
                measure(1, "sine-8", "--sides=floor-fp32", "--other-load=1", "--repetitions=1", option + "=/dev/full"),
                err.toString());
        String expected =
                "amp: " + option + " /dev/full: can't be written (java.io.IOException: No space left on device)";
        assertTrue(err.toString().contains(expected), err.toString());
        assertEquals(
                1,
                err.toString()
                        .lines()
                        .filter(line -> line.contains("/dev/full"))
                        .count(),
                err.toString());
        assertFalse(err.toString().contains("    at ") || err.toString().contains("\tat "), err.toString());
        assertTrue(out.toString().contains("floor-fp32"), out.toString());
    }

    @Test
    void inferenceIsMeasuredOnAllSidesWithTheirDistanceFromStockDl4j() throws IOException {
        Path json = folder.resolve("figures.json");
        Path page = folder.resolve("page.md");
        Files.writeString(
                page, MarkdownReport.begin("inference-sine-8-2") + "\n" + MarkdownReport.end("inference-sine-8-2"));
        int exit = measure(
                2,
                "sine-8",
                "--inference",
                "--batch=2",
                "--sides=dl4j-fp32,amp-fp32,floor-fp32,pytorch-bf16-weights,onnxruntime-fp32",
                "--other-load=1",
                "--repetitions=1",
                "--json=" + json,
                "--markdown=" + page);
        assertEquals(0, exit, err.toString());
        JsonNode figures = new ObjectMapper().readTree(json.toFile());
        assertEquals("INFERENCE", figures.at("/method/task").asText());
        assertEquals(2, figures.at("/method/minibatch").asInt());
        assertTrue(figures.at("/method/lossStep").isMissingNode());
        for (String side : List.of("dl4j-fp32", "amp-fp32", "floor-fp32")) {
            JsonNode measured = figures.at("/sides/" + side);
            assertTrue(measured.at("/secondsPerStep").asDouble() > 0, side + " " + measured);
            assertTrue(measured.at("/difference").isNumber(), side + " " + measured);
            assertTrue(measured.at("/difference").asDouble() < 1e-4, side + " " + measured);
            assertTrue(measured.at("/loss").isMissingNode(), side);
        }
        assertTrue(
                figures.at("/sides/pytorch-bf16-weights/unavailable").asText().contains("dl4j-amp-benchmarks-pytorch"));
        assertTrue(figures.at("/sides/onnxruntime-fp32/unavailable").asText().contains("amp.bench.onnxruntime"));
        assertFalse(out.toString().contains("disagree"), out.toString());
        assertTrue(Files.readString(page).contains("### sine-8, batch 2"));
    }

    @Test
    void aProfileOfInferenceIsRecordedInASidesProcess() {
        int exit = measure(1, "lstm-step", "--inference", "--batch=1", "--profile", "--sides=amp-fp32");
        assertEquals(0, exit, err.toString());
        assertTrue(out.toString().contains("lstm-step, batch 1, amp-fp32: "), out.toString());
        assertTrue(out.toString().matches("(?s).*oneDNN primitives +\\d+\\.\\d+ +\\d.*"), out.toString());
    }

    @Test
    void aProfileIsRecordedInASidesProcess() {
        int exit = measure(
                3, "sine-8", "--profile", "--sides=" + HalfPrecision.side().key());
        assertEquals(0, exit, err.toString());
        assertTrue(out.toString().matches("(?s).*oneDNN primitives +\\d+\\.\\d+ +\\d.*"), out.toString());
        assertTrue(out.toString().contains("updater: "), out.toString());
        assertTrue(out.toString().contains("nd4j: "), out.toString());
    }

    @ParameterizedTest
    @CsvSource({"sine-8, --inference, pass", "sine-8, --time-limit=600, step"})
    void kernelsOfSidesAreShownBesideEachOther(String benchmark, String option, String unit) throws IOException {
        Path page = folder.resolve("page.md");
        int exit = measure(
                3,
                benchmark,
                option,
                "--kernels",
                "--repetitions=2",
                "--sides=amp-fp32,floor-fp32",
                "--markdown=" + page);
        assertEquals(0, exit, err.toString());
        List<String> table = Files.readString(page)
                .lines()
                .filter(line -> line.startsWith("|"))
                .map(line -> line.replace(" ", ""))
                .toList();
        assertEquals("|kernel|times|amp-fp32|floor-fp32|implementationsofamp-fp32|", table.get(0));
        assertTrue(
                table.stream()
                        .anyMatch(row -> row.matches(
                                "\\|1×1,256→256,64positions(,backwarddata)?\\|[23](/2)?\\|\\d+\\.\\d+\\|\\d.*avx.*")),
                table.toString());
        for (String sum : List.of("allkernels", "betweenthem", "a" + unit)) {
            assertTrue(
                    table.stream()
                            .anyMatch(row -> row.matches("\\|" + sum + "\\|\\|-?\\d+\\.\\d+\\|-?\\d+\\.\\d+\\|\\|")),
                    table.toString());
        }
        assertTrue(out.toString().contains("| all kernels"), out.toString());
    }

    @Test
    void aProcessThatFailsOrTakesTooLongSaysWhy() throws Exception {
        ClassPaths paths = ClassPaths.ofThisProcess();
        Repetition failed = repetition(paths, Duration.ofMinutes(5));
        assertTrue(failed.unavailable().startsWith("its process ended with 1:"), failed.unavailable());
        assertTrue(failed.unavailable().contains("job.json"), failed.unavailable());
        Repetition late = repetition(paths, Duration.ofMillis(1));
        assertTrue(late.unavailable().contains("--time-limit"), late.unavailable());
    }

    @Test
    void sidesAreMeasuredByTurnsAndOneThatCantRunDoesntStopTheOthers() throws IOException {
        Path json = folder.resolve("figures.json");
        Path markdown = folder.resolve("figures.md");
        int exit = measure(
                3,
                "sine-8",
                "--sides=floor-fp32,pytorch-fp32,amp-fp32",
                "--turns=2",
                "--other-load=1",
                "--repetitions=2",
                "--json=" + json,
                "--markdown=" + markdown);
        assertEquals(0, exit, err.toString());
        JsonNode figures = new ObjectMapper().readTree(json.toFile());
        assertEquals(2, figures.at("/method/schedule/turns").asInt());
        for (String side : List.of("amp-fp32", "floor-fp32")) {
            JsonNode measured = figures.at("/sides/" + side);
            assertEquals(2, measured.at("/repetitions").asInt(), side);
            // Three steps in two turns are two each.
            assertEquals(8, measured.at("/steps").asInt(), side);
            assertTrue(measured.at("/secondsPerStep").asDouble() > 0, side);
        }
        assertTrue(figures.at("/sides/pytorch-fp32/unavailable").asText().contains("dl4j-amp-benchmarks-pytorch"));
        assertTrue(Files.readString(markdown).contains("2 repetitions, by 2 turns."), Files.readString(markdown));
    }

    private Repetition repetition(ClassPaths paths, Duration limit) throws IOException, InterruptedException {
        return new SideProcesses(paths, 1, limit, Records.NOTHING)
                .run(List.of(Side.FLOOR_FP32), folder, 1)
                .get(Side.FLOOR_FP32);
    }

    /** The fewest steps, of one thread. */
    private int measure(int steps, String... arguments) {
        Stream<String> few =
                Stream.of("--warmup=1", "--steps=" + steps, "--seconds=0", "--warmup-seconds=0", "--threads=1");
        return run(Stream.of(Stream.of("bench"), Stream.of(arguments), few)
                .flatMap(part -> part)
                .toArray(String[]::new));
    }

    private int run(String... arguments) {
        CommandLine command =
                AmpBench.commandLine().setOut(new PrintWriter(out, true)).setErr(new PrintWriter(err, true));
        return command.execute(arguments);
    }
}
