package org.dl4jamp.benchmarks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.dl4jamp.benchmarks.process.Side;
import org.dl4jamp.benchmarks.side.Profile;
import org.dl4jamp.benchmarks.side.Repetition;
import org.dl4jamp.benchmarks.side.Schedule;
import org.dl4jamp.benchmarks.side.Statistics;
import org.dl4jamp.benchmarks.side.Task;
import org.dl4jamp.engine.WorkEvent;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FiguresTest {
    private static final Machine MACHINE = new Machine(
            "Some CPU",
            2,
            1L << 34,
            "avx512_core_bf16",
            null,
            "Linux 6",
            "X 17",
            "1.0",
            "2.10",
            "1.29",
            "3.11",
            "PASSIVE");

    @TempDir
    private Path folder;

    @Test
    void medians() {
        assertEquals(2, Statistics.median(List.of(3.0, 1.0, 2.0)));
        assertEquals(2.5, Statistics.median(List.of(4.0, 1.0, 2.0, 3.0)));
        assertEquals(3, Statistics.range(List.of(2.0, 1.0, 4.0)));
        assertEquals(0, Statistics.range(List.of(2.0)));
        assertThrows(IllegalArgumentException.class, () -> Statistics.median(List.of()));
    }

    @Test
    void aSidesFiguresAreMediansOfMediansAndPeaks() {
        SideFigures figures = SideFigures.of(List.of(
                repetition(List.of(0.1, 0.2, 9.0), 100L, null),
                repetition(List.of(0.3), 300L, null),
                repetition(List.of(0.5), 200L, null)));
        assertEquals(0.3, figures.secondsPerStep());
        assertEquals(0.3, figures.spread(), 1e-12);
        assertEquals(3, figures.repetitions());
        assertEquals(10, figures.steps());
        assertEquals(300, figures.peakRssBytes());
        assertEquals(0.03, figures.otherLoad(), 1e-12);
        assertEquals(null, figures.activationBytes());
        assertTrue(figures.isAvailable());
    }

    @Test
    void theTableComparesWithDl4jPyTorchAndTheFloor() {
        String text = new FigureTable(figures(1.0)).text();
        assertTrue(text.startsWith("sine-8: a case\n"), text);
        List<String> row = row(text, "amp-bf16");
        assertEquals(List.of("amp-bf16", "100.00", "0.00", "10.00", "4.00", "2.00", "50", "20", "1.0000"), row);
        assertEquals(
                List.of("dl4j-fp32", "1000.00", "0.00", "1.00", "0.40", "50", "20", "1.0000"), row(text, "dl4j-fp32"));
        assertTrue(text.contains("pytorch-fp32 unavailable: no such thing"), text);
    }

    @Test
    void markdownHasARowForEachSideAndTheMachine() {
        String markdown = MarkdownReport.of(List.of(figures(1.0)));
        assertTrue(markdown.startsWith("Some CPU, 2 cores, 2 threads, 16384 MB, avx512_core_bf16;"), markdown);
        assertTrue(markdown.contains("### sine-8"), markdown);
        assertTrue(markdown.contains("| amp-bf16 | 100.00 | 0.00 | 10.00 |"), markdown);
        assertTrue(markdown.contains("| --- | --: |"), markdown);
        assertTrue(markdown.contains("`pytorch-fp32` unavailable: no such thing\n"), markdown);
    }

    @Test
    void markdownGoesBetweenTheMarksOfItsPlaceAndLeavesOtherPlacesAlone() throws IOException {
        Path page = folder.resolve("page.md");
        String all = MarkdownReport.begin("all") + "\nlarge\n" + MarkdownReport.end("all");
        Files.writeString(
                page,
                "before `" + MarkdownReport.begin("small") + "` and `" + MarkdownReport.end("small") + "`\n" + all
                        + "\nbetween\n" + MarkdownReport.begin("small") + "\nold\n" + MarkdownReport.end("small")
                        + "\nafter\n");
        MarkdownReport.write(page, "small", "new\n");
        MarkdownReport.write(page, "small", "newer\n");
        String expected = "before `" + MarkdownReport.begin("small") + "` and `" + MarkdownReport.end("small") + "`\n"
                + all + "\nbetween\n" + MarkdownReport.begin("small") + "\n\nnewer\n\n" + MarkdownReport.end("small")
                + "\nafter\n";
        assertEquals(expected, Files.readString(page));
        assertEquals(List.of("all", "small"), MarkdownReport.places(page));
        String message = assertThrows(
                        IllegalArgumentException.class, () -> MarkdownReport.write(page, "lenet", "new\n"))
                .getMessage();
        assertTrue(message.contains("[all, small], none for lenet"), message);
        assertEquals(expected, Files.readString(page));
    }

    @Test
    void markdownDoesntChooseBetweenTwoPlaces() throws IOException {
        Path page = folder.resolve("page.md");
        String place = MarkdownReport.begin("all") + "\nold\n" + MarkdownReport.end("all") + "\n";
        Files.writeString(page, place + place);
        IllegalArgumentException refused =
                assertThrows(IllegalArgumentException.class, () -> MarkdownReport.write(page, "all", "new\n"));
        assertTrue(refused.getMessage().endsWith("page.md has the place all twice"), refused.getMessage());
        assertEquals(place + place, Files.readString(page));
    }

    @Test
    void markdownReplacesAFileWithoutPlaces() throws IOException {
        Path plain = folder.resolve("plain.md");
        Files.writeString(plain, "old");
        MarkdownReport.write(plain, "small", "new\n");
        assertEquals("new\n", Files.readString(plain));
        assertEquals(List.of(), MarkdownReport.places(folder.resolve("none.md")));
    }

    @Test
    void whatKeepsOneDnnToAnOlderCpuStandsBesideTheMachine() {
        Machine kept = new Machine(
                "Some CPU",
                2,
                1L << 34,
                "avx512_core",
                "AVX512_CORE",
                "Linux 6",
                "X 17",
                "1.0",
                "2.10",
                "1.29",
                "3.11",
                "PASSIVE");
        assertTrue(MarkdownReport.of(List.of(figures(kept, Map.of(Side.AMP_FP32.key(), side(0.1, 1)))))
                .contains("ONEDNN_MAX_CPU_ISA AVX512_CORE;"));
        assertFalse(MarkdownReport.of(List.of(figures(1.0))).contains("ONEDNN_MAX_CPU_ISA"));
    }

    @Test
    void theCpusNameIsWhatTheOperatingSystemCallsIt() {
        List<String> amd =
                List.of("processor\t: 0", "model\t\t: 2", "model name\t: Some CPU 7", "model name\t: Some CPU 7");
        assertEquals("Some CPU 7", Machine.cpuName(amd, Map.of()));
        assertEquals("A board 5", Machine.cpuName(List.of("processor\t: 0", "Model\t\t: A board 5"), Map.of()));
        assertEquals("Family 6", Machine.cpuName(List.of(), Map.of("PROCESSOR_IDENTIFIER", "Family 6")));
        assertEquals(System.getProperty("os.arch"), Machine.cpuName(List.of("processor\t: 0"), Map.of()));
    }

    @Test
    void whatAutoStoodForIsBelowTheTableAndSmallFiguresHaveMoreDigits() {
        SideFigures auto = SideFigures.of(List.of(new Repetition(
                List.of(12.34e-6), 9, 2.0, 1.0, null, null, null, null, "FLOAT on engine onednn", null, null)));
        CaseFigures figures = figures(MACHINE, Map.of(Side.AMP_AUTO.key(), auto));
        String text = new FigureTable(figures).text();
        assertTrue(text.contains("amp-auto is FLOAT on engine onednn"), text);
        assertEquals(List.of("amp-auto", "0.0123", "0.0000", "1.0000"), row(text, "amp-auto"));
        String markdown = new FigureTable(figures).markdown();
        assertTrue(markdown.contains("\n`amp-auto` is FLOAT on engine onednn.\n"), markdown);
    }

    @Test
    void lossesThatDisagreeAreNamed() {
        assertTrue(Agreement.disagreements(figures(1.04)).isEmpty());
        List<String> warnings = Agreement.disagreements(figures(1.06));
        assertEquals(1, warnings.size(), warnings.toString());
        assertTrue(warnings.get(0).contains("amp-bf16 has 1.0600, dl4j-fp32 has 1.0000"), warnings.get(0));
        assertEquals(1, Agreement.disagreements(figures(Double.NaN)).size());
    }

    @Test
    void inferenceIsComparedWithTheBestOfPyTorchAndByOutputs() {
        Map<String, SideFigures> sides = new LinkedHashMap<>();
        sides.put(Side.DL4J_FP32.key(), pass(1.0, 0));
        sides.put(Side.AMP_BF16.key(), pass(0.1, 0.002));
        sides.put(Side.PYTORCH_FP32.key(), pass(0.3, 0));
        sides.put(Side.PYTORCH_BF16.key(), pass(0.4, 0.002));
        sides.put(Side.PYTORCH_BF16_WEIGHTS.key(), pass(0.2, 0.06));
        sides.put(Side.ONNX_RUNTIME_FP32.key(), pass(0.15, 0));
        sides.put(Side.FLOOR_BF16.key(), pass(0.05, Double.NaN));
        Schedule schedule = new Schedule(1, 0, 1, 0, 1);
        CaseFigures figures = new CaseFigures(
                "sine-8", "a case", MACHINE, CaseFigures.Method.of(1, 2, Task.INFERENCE, 4, schedule), sides);
        String text = new FigureTable(figures).text();
        assertTrue(text.startsWith("sine-8, batch 4: a case\n"), text);
        assertTrue(text.contains("ms/pass") && text.contains("x best pytorch  x onnxruntime"), text);
        assertEquals(
                List.of("amp-bf16", "100.00", "0.00", "10.00", "2.00", "1.50", "2.00", "3", "50", "2.0e-03"),
                row(text, "amp-bf16"));
        assertEquals(
                List.of("pytorch-bf16-weights", "200.00", "0.00", "5.00", "1.00", "0.75", "4.00", "3", "50", "6.0e-02"),
                row(text, "pytorch-bf16-weights"));
        List<String> warnings = Agreement.disagreements(figures);
        assertEquals(2, warnings.size(), warnings.toString());
        assertTrue(
                warnings.get(0).contains("pytorch-bf16-weights differ")
                        && warnings.get(0).contains("0.060"),
                warnings.get(0));
        assertTrue(warnings.get(1).contains("floor-bf16"), warnings.get(1));
    }

    private static SideFigures pass(double seconds, double difference) {
        return new SideFigures(seconds, 0.0, 1, 5, null, null, difference, 50_000_000L, null, 0.03, null, null, null);
    }

    @Test
    void aProfileShowsSharesAndTheRest() {
        Profile profile = new Profile(
                0.1,
                List.of(
                        new Profile.Part(
                                WorkEvent.PRIMITIVE, "a convolution " + "x".repeat(200) + " backward", 0.06, 2),
                        new Profile.Part(WorkEvent.UPDATER, "Adam", 0.03, 1)));
        Map<String, SideFigures> sides = new LinkedHashMap<>();
        sides.put(Side.AMP_BF16.key(), SideFigures.of(List.of(recorded(profile))));
        sides.put(Side.AMP_FP32.key(), SideFigures.unavailable("broken"));
        String text = ProfileTable.text(figures(sides));
        assertTrue(text.contains("sine-8, amp-bf16: 100.00 ms/step"), text);
        assertTrue(text.matches("(?s).*oneDNN primitives +60\\.00 +60\\.0%.*"), text);
        assertTrue(text.matches("(?s).*the rest: DL4J and Java +10\\.00 +10\\.0%.*"), text);
        assertTrue(text.matches("(?s).*60\\.000 +2\\.0 +primitive: a convolution x+ \\.\\.\\. x+ backward.*"), text);
        assertTrue(text.contains("amp-fp32 unavailable: broken"), text);
    }

    @Test
    void kernelsAreThoseOfTheRepetitionInTheMiddle() {
        Map<String, SideFigures> sides = new LinkedHashMap<>();
        sides.put(
                Side.AMP_FP32.key(),
                SideFigures.of(Stream.of(0.3, 0.1, 0.2)
                        .map(seconds ->
                                recorded(new Profile(seconds, List.of(new Profile.Part("jit", "3×3", seconds / 2, 1)))))
                        .toList()));
        sides.put(Side.FLOOR_FP32.key(), SideFigures.unavailable("broken"));
        String text = MarkdownReport.kernels(figures(sides));
        assertTrue(text.startsWith("### sine-8\n"), text);
        assertTrue(text.matches("(?s).*\\| 3×3 +\\| +1 \\| +100\\.000 \\| jit .*"), text);
        assertTrue(text.matches("(?s).*\\| between them +\\| +\\| +100\\.000 \\|.*"), text);
        assertTrue(text.endsWith("floor-fp32 unavailable: broken"), text);
    }

    @Test
    void aGroupInOneTableHasACaseInEachRow() {
        CaseFigures both = figures(Map.of(
                Side.DL4J_FP32.key(), side(1.0, 1.0),
                Side.AMP_AUTO.key(), side(0.25, 1.0)));
        CaseFigures one = figures(Map.of(
                Side.DL4J_FP32.key(), side(1.0, 1.0), Side.AMP_AUTO.key(), SideFigures.unavailable("no memory")));
        List<String> lines =
                MarkdownReport.inOneTable(List.of(both, one)).lines().toList();
        assertTrue(lines.get(0).startsWith("Some CPU, 2 cores"), lines::toString);
        assertEquals("| sine-8 | a case | 1000.0 | 250.0 | 4.00 | 50 | 50 |  |", lines.get(4));
        assertEquals("| sine-8 | a case | 1000.0 |  |  | 50 |  |  |", lines.get(5));
    }

    @Test
    void theMachineIsDescribed() throws IOException {
        Machine machine = Machine.current();
        assertTrue(machine.cores() > 0 && machine.memoryBytes() > 0, machine.toString());
        assertTrue(machine.onednn().matches("\\d+\\.\\d+\\.\\d+"), machine.onednn());
        assertTrue(machine.dl4j().startsWith("1.0.0-"), machine.dl4j());
        assertFalse(machine.instructionSet().startsWith("isa "), machine.instructionSet());
        assertEquals("isa -12345", Machine.instructionSet(-12345));
    }

    private static List<String> row(String text, String side) {
        String line = text.lines()
                .filter(each -> each.startsWith(side + " "))
                .findFirst()
                .orElseThrow();
        return List.of(line.split(" +"));
    }

    private static Repetition recorded(Profile profile) {
        List<Double> seconds = List.of(profile.secondsPerStep());
        return new Repetition(seconds, 1, 1.0, 1.0, null, null, null, null, null, profile, null);
    }

    private static Repetition repetition(List<Double> seconds, Long rss, Long activations) {
        return new Repetition(
                seconds, 2 * seconds.size(), 2.0, 1.0, null, rss, activations, 0.01 * seconds.size(), null, null, null);
    }

    /** With a loss of amp-bf16. */
    private static CaseFigures figures(double loss) {
        Map<String, SideFigures> sides = new LinkedHashMap<>();
        sides.put(Side.DL4J_FP32.key(), side(1.0, 1.0));
        sides.put(Side.AMP_BF16.key(), side(0.1, loss));
        sides.put(Side.PYTORCH_FP32.key(), SideFigures.unavailable("no such thing\nat all"));
        sides.put(Side.PYTORCH_BF16.key(), side(0.4, 1.0));
        sides.put(Side.FLOOR_BF16.key(), side(0.05, 2.0));
        return figures(sides);
    }

    private static CaseFigures figures(Map<String, SideFigures> sides) {
        return figures(MACHINE, sides);
    }

    private static CaseFigures figures(Machine machine, Map<String, SideFigures> sides) {
        Schedule schedule = new Schedule(1, 0, 1, 0, 1);
        return new CaseFigures(
                "sine-8", "a case", machine, CaseFigures.Method.of(1, 2, Task.TRAINING, 1, schedule), sides);
    }

    private static SideFigures side(double seconds, double loss) {
        return new SideFigures(seconds, 0.0, 1, 5, 2.0, loss, null, 50_000_000L, 20_000_000L, null, null, null, null);
    }
}
