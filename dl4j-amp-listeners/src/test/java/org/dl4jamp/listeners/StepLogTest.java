package org.dl4jamp.listeners;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.precision.AmpException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.shade.jackson.databind.JsonNode;
import org.nd4j.shade.jackson.databind.ObjectMapper;

class StepLogTest {
    private static final String HEADER =
            "iteration,epoch,loss,lossScale,stepsTaken,stepsSkipped,secondsPerIteration,examplesPerSecond,memoryBytes";
    private static final String LINE = "200,1,0.5,32768.0,197,3,0.01235,5183.4,1262485504";

    @TempDir
    private Path folder;

    private File file(String name) {
        return folder.resolve(name).toFile();
    }

    @Test
    void csvHasAHeaderAndALineForEachReport() throws IOException {
        StepLog log = StepLog.csv(file("log.csv"), 1);
        assertFalse(file("log.csv").exists());
        log.report(LinesTest.FIGURES);
        log.report(LinesTest.WITHOUT);
        assertEquals(
                List.of(HEADER, LINE, "1,0,0.5,,0,0,,,2097152"),
                Files.readAllLines(file("log.csv").toPath()));
    }

    @Test
    void aTrainingThatGoesOnContinuesItsLog() throws IOException {
        StepLog.csv(file("log.csv"), 1).report(LinesTest.FIGURES);
        StepLog.csv(file("log.csv"), 1).report(LinesTest.FIGURES);
        assertEquals(
                List.of(HEADER, LINE, LINE), Files.readAllLines(file("log.csv").toPath()));
    }

    @Test
    void jsonLinesAreObjectsWithTheSameNames() throws IOException {
        StepLog log = StepLog.jsonLines(file("log.jsonl"), 1);
        log.report(LinesTest.FIGURES);
        log.report(new StepFigures(
                2,
                0,
                Double.NaN,
                LinesTest.FIGURES.lossScale(),
                0,
                1,
                LinesTest.WITHOUT.secondsPerIteration(),
                LinesTest.WITHOUT.examplesPerSecond(),
                1));
        List<String> lines = Files.readAllLines(file("log.jsonl").toPath());
        JsonNode first = new ObjectMapper().readTree(lines.get(0));
        assertEquals(HEADER, String.join(",", iterable(first)));
        assertEquals(32768.0, first.get("lossScale").asDouble());
        JsonNode second = new ObjectMapper().readTree(lines.get(1));
        assertEquals("NaN", second.get("loss").asText());
        assertFalse(second.has("secondsPerIteration"));
    }

    private static List<String> iterable(JsonNode object) {
        List<String> names = new java.util.ArrayList<>();
        object.fieldNames().forEachRemaining(names::add);
        return names;
    }

    @Test
    void aLineThatAKilledProcessHasLeftHalfWrittenIsReplaced() throws IOException {
        Files.writeString(file("log.csv").toPath(), HEADER + "\n" + LINE + "\n200,1,0.");
        StepLog.csv(file("log.csv"), 1).report(LinesTest.FIGURES);
        assertEquals(
                List.of(HEADER, LINE, LINE), Files.readAllLines(file("log.csv").toPath()));
    }

    /** Takes some bytes, and fails then, as a full disk does. */
    private record Full(SeekableByteChannel real, AtomicInteger left) implements SeekableByteChannel {
        @Override
        public int write(ByteBuffer bytes) throws IOException {
            if (left.get() == 0) {
                throw new IOException("No space left on device");
            }
            ByteBuffer part = bytes.slice(bytes.position(), Math.min(left.get(), bytes.remaining()));
            int written = real.write(part);
            bytes.position(bytes.position() + written);
            left.addAndGet(-written);
            return written;
        }

        @Override
        public int read(ByteBuffer bytes) throws IOException {
            return real.read(bytes);
        }

        @Override
        public long position() throws IOException {
            return real.position();
        }

        @Override
        public SeekableByteChannel position(long position) throws IOException {
            real.position(position);
            return this;
        }

        @Override
        public long size() throws IOException {
            return real.size();
        }

        @Override
        public SeekableByteChannel truncate(long size) throws IOException {
            real.truncate(size);
            return this;
        }

        @Override
        public boolean isOpen() {
            return real.isOpen();
        }

        @Override
        public void close() throws IOException {
            real.close();
        }
    }

    @Test
    void onAFullDiskTheFileKeepsItsWholeLinesAndTrainingGoesOn() throws IOException {
        AtomicInteger left = new AtomicInteger(HEADER.length() + 100);
        StepLog log = StepLog.csv(
                file("log.csv"),
                1,
                path -> new Full(
                        Files.newByteChannel(
                                path,
                                Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.CREATE)),
                        left));
        MultiLayerNetwork network = SmallNetwork.of(new Sgd(0.1));
        network.setListeners(log);
        for (int i = 0; i < 20; i++) {
            network.fit(Nd4j.zeros(DataType.FLOAT, 2, 4), Nd4j.eye(2));
        }
        assertEquals(20, network.getIterationCount());
        String content = Files.readString(file("log.csv").toPath());
        assertTrue(content.startsWith(HEADER + "\n0,0,"), content);
        assertTrue(content.endsWith("\n"), content);
        assertTrue(content.lines().skip(1).allMatch(line -> line.split(",", -1).length == 9), content);
        assertEquals(0, left.get());
    }

    private static void assertRefused(String message, File file) {
        AmpException csv = assertThrows(AmpException.class, () -> StepLog.csv(file, 1));
        assertTrue(csv.getMessage().contains(message), csv.getMessage());
        assertTrue(csv.getMessage().startsWith("file"), csv.getMessage());
        assertThrows(AmpException.class, () -> StepLog.jsonLines(file, 1));
    }

    @Test
    void whatCannotBeTheLogIsRefusedBeforeTraining() throws IOException {
        assertRefused("its folder isn't there", file("missing/log.csv"));
        assertRefused("it isn't a file", folder.toFile());
        assertRefused("null", null);
        Files.writeString(file("other.txt").toPath(), "something else\n");
        assertRefused("its first line isn't that of such a log", file("other.txt"));
        assertEquals("something else\n", Files.readString(file("other.txt").toPath()));
        StepLog.csv(file("log.csv"), 1).report(LinesTest.FIGURES);
        assertThrows(AmpException.class, () -> StepLog.jsonLines(file("log.csv"), 1));
        assertThrows(AmpException.class, () -> StepLog.csv(file("log.csv"), 0));
    }

    @Test
    void messagesNameTheFile() {
        assertEquals(
                "StepLog to " + file("log.csv").getAbsolutePath(),
                StepLog.csv(file("log.csv"), 1).toString());
    }
}
