package org.dl4jamp.examples;

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
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DoctorCommandTest {
    @TempDir
    private Path folder;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... arguments) {
        return AmpCommand.commandLine()
                .setOut(new PrintWriter(out, true))
                .setErr(new PrintWriter(err, true))
                .execute(arguments);
    }

    private JsonNode doctor(String... options) throws IOException {
        Path json = folder.resolve("doctor.json");
        String[] arguments = new String[options.length + 2];
        arguments[0] = "doctor";
        arguments[1] = "--json=" + json;
        System.arraycopy(options, 0, arguments, 2, options.length);
        assertEquals(0, run(arguments), err.toString());
        return new ObjectMapper().readTree(json.toFile());
    }

    private void assertPrinted(String text) {
        // Long lines are wrapped.
        String printed = out.toString().replaceAll("\\s+", " ");
        assertTrue(!text.isEmpty() && printed.contains(text), text + " in:\n" + out);
    }

    @Test
    void textAndJsonSayTheSame() throws IOException {
        JsonNode json = doctor("--no-measure");
        JsonNode machine = json.at("/machine");
        assertPrinted("dl4j-amp " + machine.at("/dl4jAmp").asText());
        assertPrinted(machine.at("/system/host/system").asText());
        assertPrinted(machine.at("/system/host/cpu").asText());
        assertPrinted(machine.at("/system/java/version").asText());
        assertPrinted(machine.at("/nd4j/backend").asText());
        assertPrinted(machine.at("/nd4j/automatic/reason").asText());
        assertPrinted(machine.at("/nd4j/automatic/precision").asText() + " on engine "
                + machine.at("/nd4j/automatic/engine").asText());
        for (JsonNode setting : machine.at("/system/settings")) {
            assertPrinted(setting.at("/name").asText());
            assertPrinted(setting.at("/effect").asText());
        }
        JsonNode onednn = machine.at("/nd4j/engines/0");
        assertEquals("onednn", onednn.at("/name").asText());
        assertPrinted(
                "instruction set " + onednn.at("/facts").get("instruction set").asText());
        assertEquals("nd4j", machine.at("/nd4j/engines/1/name").asText());
        assertTrue(json.at("/speed").isNull());
        assertFalse(out.toString().contains("Prediction"), out.toString());
        assertEquals("", err.toString());
    }

    @Test
    @Tag("long")
    void itMeasuresEachKindOfNetworkInFifteenSeconds() throws IOException {
        JsonNode speed = doctor().at("/speed");
        // The share of the processors that other programs take, as the doctor measures it.
        double ownShare = 1 - Math.min(0.9, speed.at("/othersShare").asDouble());
        assertTrue(speed.at("/seconds").asDouble() < 25 / ownShare, speed.toString());
        assertEquals(3, speed.at("/networks").size());
        assertPrinted("Prediction: training with AUTO");
        assertPrinted("memory:");
    }

    @Test
    void aHyphenPrintsJsonAndNothingElse() throws IOException {
        assertEquals(0, run("doctor", "--no-measure", "--json=-"), err.toString());
        JsonNode json = new ObjectMapper().readTree(out.toString());
        assertEquals("onednn", json.at("/machine/nd4j/engines/0/name").asText());
        assertTrue(out.toString().startsWith("{"), out.toString());
    }

    @Test
    void aFileThatCanNotBeWrittenIsSaidFirst() {
        assertEquals(2, run("doctor", "--no-measure", "--json=" + folder));
        assertTrue(err.toString().startsWith("amp: --json " + folder + ": can't be written"), err.toString());
        assertEquals("", out.toString());
        assertFalse(Files.exists(folder.resolve("doctor.json")));
    }
}
