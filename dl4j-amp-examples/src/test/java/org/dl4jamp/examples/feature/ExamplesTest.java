package org.dl4jamp.examples.feature;

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
import java.util.List;
import java.util.stream.Stream;
import org.dl4jamp.examples.AmpCommand;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class ExamplesTest {
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @TempDir
    private Path folder;

    private int run(String... arguments) {
        return AmpCommand.commandLine()
                .setOut(new PrintWriter(out, true))
                .setErr(new PrintWriter(err, true))
                .execute(arguments);
    }

    static Stream<String> names() {
        return Examples.ALL.stream().map(Examples::name);
    }

    /**
     * The limits are the examples' own; that there are figures within them, and that these are numbers, is looked at
     * here.
     */
    @ParameterizedTest
    @MethodSource("names")
    void anExampleDoesWhatItClaims(String name) throws IOException {
        Path json = folder.resolve("claims.json");
        assertEquals(0, run("example", name, "--json=" + json), () -> out + "\n" + err);
        JsonNode claims = new ObjectMapper().readTree(json.toFile());
        assertTrue(claims.size() >= 2, out::toString);
        for (JsonNode claim : claims) {
            double value = claim.get("value").asDouble(Double.NaN);
            assertTrue(value >= limit(claim.get("atLeast")) && value <= limit(claim.get("atMost")), claim::toString);
            assertTrue(out.toString().contains("ok     " + claim.get("what").asText()), out::toString);
        }
    }

    private static double limit(JsonNode number) {
        return number.isNumber() ? number.asDouble() : Double.parseDouble(number.asText());
    }

    /** HALF, with a loss scale, on any machine. */
    @ParameterizedTest
    @ValueSource(strings = {"shared-scale", "scaler-by-hand", "gan", "pause"})
    void whatLossScalingIsForRunsInHalfToo(String name) {
        assertEquals(0, run("example", name, "--precision=half", "--engine=nd4j"), () -> out + "\n" + err);
        assertTrue(out.toString().contains("Here in mixed precision on engine nd4j"), out::toString);
        assertFalse(out.toString().contains("\n0 steps skipped"), out::toString);
        assertFalse(out.toString().contains("\n0 and 0 steps skipped"), out::toString);
    }

    @Test
    void theListNamesEachWithALine() {
        assertEquals(0, run("example", "--list"));
        List<String> lines = out.toString().lines().toList();
        assertEquals(Examples.ALL.size(), lines.size());
        for (int i = 0; i < lines.size(); i++) {
            assertTrue(lines.get(i).startsWith(Examples.ALL.get(i).name() + " "), lines.get(i));
            assertTrue(lines.get(i).endsWith(Examples.ALL.get(i).what()), lines.get(i));
        }
    }

    @Test
    void aFigureOutsideOfItsLimitsEndsInFailure() {
        Report report = new Report(new PrintWriter(out, true));
        report.atLeast("accuracy", 0.5, 0.9);
        report.is("steps", 3, 3);
        report.atMost("loss", Double.NaN, 1);
        assertEquals(
                List.of(false, true, false),
                report.claims().stream().map(Report.Claim::holds).toList());
        assertTrue(out.toString().contains("FAILED accuracy: 0.5000 (at least 0.9000)"), out::toString);
    }

    /** They're for reading. */
    @ParameterizedTest
    @MethodSource("names")
    void anExampleHasAtMostEightyLines(String name) throws IOException {
        Class<?> type = Examples.of(name).orElseThrow().example().getClass();
        Path source = Path.of("src/main/java", type.getName().replace('.', '/') + ".java");
        assertTrue(Files.readAllLines(source).size() <= 80, () -> type.getSimpleName());
    }
}
