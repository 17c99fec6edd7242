package org.dl4jamp.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;

class AmpCommandTest {
    @TempDir
    private Path folder;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @Test
    void helpNamesTheCommandsAndSucceeds() {
        assertEquals(0, run("--help"));
        assertTrue(out.toString().contains("sine") && out.toString().contains("digits"), out.toString());
        assertEquals("", err.toString());
    }

    /** The reason is often in the last cause alone, such as memory that is used up. */
    @Test
    void anErrorIsShownWithItsCauses() {
        Callable<Integer> failing = () -> {
            throw new IllegalStateException("the forward pass failed", new OutOfMemoryError("no memory is left"));
        };
        CommandLine command =
                AmpCommand.commandLine().addSubcommand("fail", CommandSpec.wrapWithoutInspection(failing));
        assertEquals(1, command.setErr(new PrintWriter(err)).execute("fail"));
        String shown = err.toString();
        assertTrue(shown.startsWith("amp: java.lang.IllegalStateException: the forward pass failed"), shown);
        assertTrue(shown.contains("Caused by: java.lang.OutOfMemoryError: no memory is left"), shown);
    }

    @Test
    void versionNamesWhatWasBuilt() {
        assertEquals(0, run("--version"));
        assertTrue(out.toString().matches("(?s)dl4j-amp \\d.*DL4J 1\\.0\\.0-.*"), out.toString());
    }

    @ParameterizedTest
    @CsvSource({
        "'', 'a command is needed: sine, digits, parallel, example, doctor, plan, compare, bench or spark'",
        "sin, Did you mean: amp sine?",
        "sine --size 0, --size 0: must be at least 2",
        "sine --size many, Invalid value for option '--size'",
        "sine --hidden 0, --hidden 0: must be at least 1",
        "sine --layers -1, --layers -1: must be at least 0",
        "sine --iterations -5, --iterations -5: must be at least 1",
        "sine --precision fp8, 'expected one of [AUTO, HALF, BFLOAT16, FLOAT] (case-insensitive) but was ''fp8'''",
        "sine --engine abacus, abacus",
        "sine --json no/such/folder/x.json, can't be written",
        "sine --image no/such/folder/x.png, can't be written",
        "sine --json out.png --image ./out.png, must be another file",
        "sine --size, Missing required parameter for option '--size'",
        "sine --epochs 3, Unknown option",
        "digits --epochs 0, --epochs 0: must be at least 1",
        "parallel --workers 1, --workers 1: must be at least 2",
        "parallel --mode ring, 'expected one of [AVERAGING, SHARED_GRADIENTS] (case-insensitive) but was ''ring'''",
        "parallel --runs 0, --runs 0: must be at least 1",
        "parallel --threads 0, --threads 0: must be at least 1",
        "digits --precision fp8, but was 'fp8'",
        "digits --json ., can't be written",
        "sine --report no/such/folder/x.html, can't be written",
        "sine --report ., can't be written",
        "sine --report sine.html --json ./sine.html, must be another file than that of --json",
        "sine --report out.png --image ./out.png, must be another file than that of --image",
        "digits --report no/such/folder/x.html, can't be written",
        "digits --report ., can't be written",
    })
    void wrongUsageIsSaidAtOnceInOneLineAndEndsWithTwo(String arguments, String message) {
        List<String> all = new ArrayList<>();
        if (arguments != null && !arguments.isEmpty()) {
            all.addAll(List.of(arguments.split(" ")));
        }
        if (arguments.startsWith("sine") && !arguments.contains("--image")) {
            all.add(1, "--image=" + folder.resolve("sine.png"));
        }
        assertEquals(2, run(all.toArray(String[]::new)), err.toString());
        assertTrue(err.toString().startsWith("amp: "), err.toString());
        assertTrue(err.toString().contains(message), err.toString());
        assertTrue(err.toString().lines().count() <= 3, err.toString());
        assertEquals("", out.toString());
        assertFalse(Files.exists(folder.resolve("sine.png")));
    }

    @Test
    void sineWritesFiguresOfBothTrainingsAndAnImage() throws IOException {
        Path json = folder.resolve("sine.json");
        Path image = folder.resolve("sine.png");
        assertEquals(
                0,
                run(
                        "sine",
                        "--precision=half",
                        "--size=8",
                        "--hidden=8",
                        "--iterations=12",
                        "--json=" + json,
                        "--image=" + image),
                err.toString());
        JsonNode figures = read(json);
        for (String training : List.of("fp32", "amp")) {
            for (String key : List.of("seconds", "secondsPerIteration", "loss", "peakBytes")) {
                assertTrue(figures.at("/" + training + "/" + key).asDouble() > 0, training + " " + key);
            }
        }
        assertEquals("HALF", figures.at("/amp/precision").asText());
        assertEquals("nd4j", figures.at("/amp/engine").asText());
        assertEquals(0, figures.at("/amp/stepsSkipped").asInt(-1));
        assertEquals(65536, figures.at("/amp/lossScale").asDouble());
        assertEquals(
                figures.at("/fp32/secondsPerIteration").asDouble()
                        / figures.at("/amp/secondsPerIteration").asDouble(),
                figures.at("/speedup").asDouble(),
                1e-9);
        assertEquals(
                1
                        - figures.at("/amp/peakBytes").asDouble()
                                / figures.at("/fp32/peakBytes").asDouble(),
                figures.at("/memorySaving").asDouble(),
                1e-9);
        assertEquals(
                figures.at("/fp32/loss").asDouble(),
                figures.at("/amp/loss").asDouble(),
                0.02 * figures.at("/fp32/loss").asDouble());
        BufferedImage drawn = ImageIO.read(image.toFile());
        assertTrue(drawn.getWidth() > 900 && drawn.getHeight() > 600);
        assertTrue(out.toString().contains("step time AMP/FP32"), out.toString());
        assertTrue(out.toString().contains("numerics and not speed"), out.toString());
    }

    @Test
    void sineWritesAReportOfTheTrainingInMixedPrecision() throws IOException {
        Path report = folder.resolve("sine.html");
        assertEquals(
                0,
                run(
                        "sine",
                        "--precision=half",
                        "--size=8",
                        "--hidden=8",
                        "--iterations=12",
                        "--report=" + report,
                        "--image=" + folder.resolve("sine.png")),
                err.toString());
        String page = Files.readString(report);
        assertTrue(page.contains("In 12 iterations the loss went from"), page);
        assertTrue(page.contains("Ended after iteration 11."), page);
        assertTrue(page.contains("<b>HALF</b><span>engine nd4j</span>"), page);
        assertTrue(out.toString().contains("Report: " + report), out.toString());
    }

    @Test
    void sineTakesTheCpuEngineInBfloat16OrWhereTheCpuDoesNotMultiplyThatInFp32() throws IOException {
        Path json = folder.resolve("sine.json");
        assertEquals(
                0,
                run(
                        "sine",
                        "--size=8",
                        "--hidden=8",
                        "--iterations=3",
                        "--json=" + json,
                        "--image=" + folder.resolve("s.png")),
                err.toString());
        assertEquals("onednn", read(json).at("/amp/engine").asText());
        String precision = read(json).at("/amp/precision").asText();
        assertTrue(List.of("BFLOAT16", "FLOAT").contains(precision), precision);
    }

    @Tag("long")
    @ParameterizedTest
    @CsvSource({"sine --size=8 --hidden=8 --iterations=3", "digits --epochs=1"})
    void whereNoLayerIsHalfNothingIsSaidOfMixedPrecision(String command) {
        List<String> arguments = new ArrayList<>(List.of(command.split(" ")));
        arguments.addAll(List.of("--precision=float", "--engine=onednn"));
        if (command.startsWith("sine")) {
            arguments.add("--image=" + folder.resolve("s.png"));
        }
        assertEquals(0, run(arguments.toArray(String[]::new)), err.toString());
        String printed = out.toString();
        assertTrue(printed.contains("FP32, onednn"), printed);
        assertTrue(printed.contains("No layer computed in half precision"), printed);
        for (String word : List.of("AMP", "mixed precision", "loss scale")) {
            assertFalse(printed.contains(word), printed);
        }
    }

    @Test
    @Tag("long")
    void digitsWritesAccuracyOfBothNetworks() throws IOException {
        Path json = folder.resolve("digits.json");
        Path report = folder.resolve("digits.html");
        assertEquals(
                0,
                run("digits", "--precision=half", "--epochs=2", "--json=" + json, "--report=" + report),
                err.toString());
        assertTrue(Files.readString(folder.resolve("digits-cnn.html")).contains("MultiLayerNetwork"));
        assertTrue(Files.readString(folder.resolve("digits-residual.html")).contains("ComputationGraph"));
        JsonNode figures = read(json);
        for (String network : List.of("cnn", "residual")) {
            double fp32 = figures.at("/" + network + "/fp32/accuracy").asDouble();
            double amp = figures.at("/" + network + "/amp/accuracy").asDouble();
            assertTrue(fp32 > 0.5, network + " " + fp32);
            assertEquals(fp32, amp, 0.05, network);
            assertEquals("HALF", figures.at("/" + network + "/amp/precision").asText());
            assertTrue(figures.at("/" + network + "/fp32/seconds").asDouble() > 0);
            assertTrue(figures.at("/" + network + "/amp/seconds").asDouble() > 0);
        }
    }

    @ParameterizedTest
    @Tag("long")
    @CsvSource({"averaging, half", "shared_gradients, auto"})
    void parallelComparesReplicasInFp32AndInMixedPrecision(String mode, String precision) throws IOException {
        Path json = folder.resolve("parallel.json");
        assertEquals(
                0,
                run("parallel", "--mode=" + mode, "--precision=" + precision, "--epochs=1", "--json=" + json),
                err.toString());
        JsonNode figures = read(json);
        double fp32 = figures.at("/fp32/accuracy").asDouble();
        // In one epoch of shared gradients nothing much is learned, in FP32 neither.
        assertTrue(fp32 > (mode.equals("averaging") ? 0.5 : 0.03), figures.toString());
        assertEquals(fp32, figures.at("/amp/accuracy").asDouble(), 0.2, figures.toString());
        assertEquals(2, figures.at("/replicas").size());
        int steps = 0;
        for (JsonNode replica : figures.at("/replicas")) {
            steps += replica.at("/stepsTaken").asInt()
                    + replica.at("/stepsSkipped").asInt();
            assertTrue(out.toString().contains("replica " + replica.at("/index").asInt() + ": "), out.toString());
        }
        // 1,347 images in batches of 16.
        assertEquals(85, steps, figures.toString());
    }

    /** Opens like any file, and is always full. */
    private static final Path FULL = Path.of("/dev/full");

    @ParameterizedTest
    @CsvSource({
        "sine --size=8 --hidden=8 --iterations=3 --json=/dev/full, --json, Speed-up",
        "sine --size=8 --hidden=8 --iterations=3 --image=/dev/full, --image, Speed-up",
        "sine --size=8 --hidden=8 --iterations=3 --report=/dev/full, --report, Speed-up",
        "example one-line --json=/dev/full, --json, one-line",
    })
    @EnabledOnOs(value = OS.LINUX, disabledReason = "/dev/full is Linux's")
    void aFileThatFillsItsDiskIsSaidInOneLineAfterTheFigures(String command, String option, String figure) {
        assertSaidAfterTheFigures(command, option, figure);
    }

    @Tag("long")
    @ParameterizedTest
    @CsvSource({
        "digits --epochs=1 --json=/dev/full, --json, residual",
        "parallel --epochs=1 --json=/dev/full, --json, replica 1",
    })
    @EnabledOnOs(value = OS.LINUX, disabledReason = "/dev/full is Linux's")
    void soIsOneOfALongTraining(String command, String option, String figure) {
        assertSaidAfterTheFigures(command, option, figure);
    }

    private void assertSaidAfterTheFigures(String command, String option, String figure) {
        List<String> arguments = new ArrayList<>(List.of(command.split(" ")));
        if (command.startsWith("sine") && !command.contains("--image")) {
            arguments.add("--image=" + folder.resolve("s.png"));
        }
        assertEquals(2, run(arguments.toArray(String[]::new)), err.toString());
        String expected =
                "amp: " + option + " /dev/full: can't be written (java.io.IOException: No space left on device)";
        assertTrue(err.toString().contains(expected), err.toString());
        assertFalse(err.toString().contains("    at "), err.toString());
        assertTrue(out.toString().contains(figure), out.toString());
        assertTrue(Files.exists(FULL) && !Files.isRegularFile(FULL), "the device is still one");
    }

    @Test
    void anImageIsWrittenThroughALinkWhichStays() throws IOException {
        Path target = Files.createFile(folder.resolve("target.png"));
        Path link = Files.createSymbolicLink(folder.resolve("link.png"), target);
        assertEquals(0, run("sine", "--size=8", "--hidden=8", "--iterations=3", "--image=" + link), err.toString());
        assertTrue(Files.isSymbolicLink(link));
        assertTrue(ImageIO.read(target.toFile()).getWidth() > 900);
    }

    private int run(String... arguments) {
        CommandLine amp =
                AmpCommand.commandLine().setOut(new PrintWriter(out, true)).setErr(new PrintWriter(err, true));
        return amp.execute(arguments);
    }

    private static JsonNode read(Path json) throws IOException {
        return new ObjectMapper().readTree(json.toFile());
    }
}
