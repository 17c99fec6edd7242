package org.dl4jamp.ui;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.deeplearning4j.core.storage.StatsStorage;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.ui.api.UIServer;
import org.deeplearning4j.ui.model.storage.FileStatsStorage;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.ui.record.StepContent;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Statistics in a file: those of an ended training are shown, and what isn't one is refused as it was. */
class StatsFileTest {
    private static final int ITERATIONS = 30;

    @TempDir
    Path folder;

    @AfterEach
    void noServerIsLeft() throws Exception {
        UIServer.stopInstance();
    }

    private FileStatsStorage trained(File file) {
        FileStatsStorage storage = new FileStatsStorage(file);
        MultiLayerNetwork network = Training.network("one", "two");
        MixedPrecision.enable(network, Training.half(0x1p28, 10).build());
        network.setListeners(new MixedPrecisionStatsListener(storage, 1, "session", "worker"));
        for (int i = 0; i < ITERATIONS; i++) {
            network.fit(Training.batch(i));
        }
        return storage;
    }

    @Test
    void theFileOfAnEndedTrainingIsShown() {
        File file = folder.resolve("training.dl4j").toFile();
        FileStatsStorage written = trained(file);
        List<StepContent> steps = Storages.steps(written, "session", "worker");
        written.close();
        assertEquals(ITERATIONS, steps.size());
        try (AmpUi ui = AmpUi.builder().port(0).start().attach(file)) {
            assertEquals(List.of("session"), Pages.sessions(ui.port()));
            var updates = Pages.updates(ui.port(), "session", "worker", 0);
            assertEquals(ITERATIONS, updates.getJsonArray("steps").size());
            assertFalse(updates.getJsonArray("skips").isEmpty());
        }
        StatsStorage again = StatsFile.open(file);
        assertEquals(steps, Storages.steps(again, "session", "worker"), "closed by the UI, and as it was");
        StatsFile.close(again);
    }

    @Test
    void aFileThatIsOpenElsewhereIsRefusedInOneLine() {
        File file = folder.resolve("training.dl4j").toFile();
        FileStatsStorage open = trained(file);
        AmpException error = assertThrows(AmpException.class, () -> StatsFile.open(file));
        assertOneLine(error, file, "another program has it open");
        assertFalse(open.isClosed());
        open.close();
    }

    /** MapDB enlarges its file by a mebibyte at a time; what's behind the last record may be missing. */
    @Test
    void aFileThatIsCutOffIsRefusedInOneLineAndLeftAsItWas() throws IOException {
        File whole = folder.resolve("training.dl4j").toFile();
        trained(whole).close();
        byte[] bytes = Files.readAllBytes(whole.toPath());
        for (int length : new int[] {0, 10, 1000, bytes.length / 4, bytes.length / 3}) {
            File file = folder.resolve("cut-" + length).toFile();
            byte[] cut = Arrays.copyOf(bytes, length);
            assertRefused(file, cut);
        }
    }

    @Test
    void anotherFileIsRefusedInOneLineAndLeftAsItWas() throws IOException {
        byte[] letter = "Dear Sir or Madam, ".repeat(1000).getBytes(StandardCharsets.UTF_8);
        assertRefused(folder.resolve("letter.txt").toFile(), letter);
    }

    private void assertRefused(File file, byte[] content) throws IOException {
        Files.write(file.toPath(), content);
        List<Path> before = files();
        AmpException error = assertThrows(AmpException.class, () -> StatsFile.open(file), file::toString);
        assertOneLine(error, file, "it's cut off, or no file that a FileStatsStorage has written");
        assertArrayEquals(content, Files.readAllBytes(file.toPath()));
        assertEquals(before, files());
    }

    private List<Path> files() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.sorted().toList();
        }
    }

    @Test
    void aFileThatIsNotThereIsNotMade() {
        File file = folder.resolve("none.dl4j").toFile();
        AmpException error = assertThrows(AmpException.class, () -> StatsFile.open(file));
        assertOneLine(error, file, "there is no file");
        assertFalse(file.exists());
        assertOneLine(
                assertThrows(AmpException.class, () -> StatsFile.open(folder.toFile())),
                folder.toFile(),
                "there is no file");
    }

    private static void assertOneLine(AmpException error, File file, String what) {
        assertTrue(error.getMessage().contains(file.toString()), error.getMessage());
        assertTrue(error.getMessage().contains(what), error.getMessage());
        assertFalse(error.getMessage().contains("\n"), error.getMessage());
    }
}
