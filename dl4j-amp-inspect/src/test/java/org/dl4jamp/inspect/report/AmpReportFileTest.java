package org.dl4jamp.inspect.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.checkpoint.AtomicFile;
import org.dl4jamp.listeners.FiguresListener;
import org.dl4jamp.precision.AmpException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;
import org.w3c.dom.Document;

/** When the file is written, and what happens if it can't be. */
class AmpReportFileTest {
    @TempDir
    Path folder;

    private final MultiLayerNetwork network = Training.network("first");
    private final List<String> written = new ArrayList<>();
    private long now;

    private AmpReport report() {
        AmpReport report = new AmpReport(folder.resolve("report.html"), 100, this::keep, () -> now);
        network.setListeners(report);
        return report;
    }

    private void keep(Path file, AtomicFile.Content content) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        content.writeTo(bytes);
        written.add(bytes.toString(StandardCharsets.UTF_8));
    }

    private void epochs(int count) {
        network.fit(new ExistingDataSetIterator(List.of(Training.BATCH, Training.BATCH)), count);
    }

    private List<Path> files() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.toList();
        }
    }

    @Test
    void itIsWrittenAfterEachEpochAndByClose() {
        try (AmpReport report = report()) {
            epochs(2);
            assertEquals(2, written.size());
            assertTrue(Pages.text(Pages.parse(written.get(1)), "//header/p").startsWith("training goes on"));
            report.close();
            assertEquals(3, written.size());
            assertTrue(Pages.text(Pages.parse(written.get(2)), "//header/p").startsWith("Ended after iteration 3."));
        }
        assertEquals(3, written.size(), "closed twice");
        epochs(1);
        assertEquals(3, written.size(), "closed");
    }

    @Test
    void manyShortEpochsAreWrittenOnceASecond() {
        report();
        epochs(50);
        assertEquals(20, written.size());
        now += TimeUnit.MILLISECONDS.toNanos(1001);
        epochs(2);
        assertEquals(21, written.size());
    }

    @Test
    void betweenEpochsItIsWrittenEvery30Seconds() {
        report();
        Training.train(network, 5);
        assertEquals(0, written.size());
        now += TimeUnit.SECONDS.toNanos(30);
        Training.train(network, 5);
        assertEquals(1, written.size());
        assertTrue(Pages.words(Pages.parse(written.get(0))).contains("In 6 iterations"));
        now += TimeUnit.SECONDS.toNanos(30);
        Training.train(network, 1);
        assertEquals(2, written.size());
    }

    @Test
    void withAnotherNetworkItBeginsAnew() {
        AmpReport report = report();
        Training.train(network, 5);
        MultiLayerNetwork other = Training.network("first", "second");
        other.setListeners(report);
        Training.train(other, 3);
        report.close();
        String words = Pages.words(Pages.parse(written.get(0)));
        assertTrue(words.contains("of 3 layers") && words.contains("In 3 iterations"), words);
    }

    @Test
    void anOldFileIsReplacedAndNothingIsLeftBesideIt() throws IOException {
        Path file = Files.writeString(folder.resolve("report.html"), "old");
        try (AmpReport report = new AmpReport(file)) {
            network.setListeners(report);
            assertEquals("old", Files.readString(file));
            epochs(1);
            Pages.read(file);
        }
        Pages.read(file);
        assertEquals(List.of(file), files());
    }

    @Test
    void itIsWrittenAlsoAfterMixedPrecisionAndNetworkWereClosed() {
        MixedPrecision amp =
                MixedPrecision.enable(network, Training.overflowing().build());
        AmpReport report = report();
        Training.train(network, 12);
        long skipped = amp.stepsSkipped();
        assertTrue(skipped > 0);
        amp.close();
        network.close();
        report.close();
        Document page = Pages.parse(written.get(0));
        assertEquals("HALF", Pages.tile(page, "precision"));
        assertEquals(skipped, Pages.whole(Pages.tile(page, "skipped")));
        assertEquals(2, Pages.texts(page, "//table[@class='plan']/tbody/tr").size());
    }

    @Test
    void withoutAnIterationThereIsNoFile() throws IOException {
        new AmpReport(folder.resolve("report.html")).close();
        assertEquals(List.of(), files());
    }

    private static void assertRefused(String expected, Path file) {
        AmpException e = assertThrows(AmpException.class, () -> new AmpReport(file));
        assertTrue(e.getMessage().contains(expected), e.getMessage());
        assertTrue(e.getMessage().startsWith("file: " + file), e.getMessage());
        assertFalse(e.getMessage().contains("\n"), e.getMessage());
    }

    @Test
    void aFileThatCannotBeWrittenIsRefusedAtOnce() throws IOException {
        assertRefused("is a folder", folder);
        assertRefused("can't be written", folder.resolve("none").resolve("report.html"));
        Path file = Files.writeString(folder.resolve("file"), "content");
        assertRefused("can't be written", file.resolve("report.html"));
        assertEquals(List.of(file), files());
        assertEquals("content", Files.readString(file));
    }

    @Test
    void anIntervalBelowOneIsRefused() {
        AmpException e = assertThrows(AmpException.class, () -> new AmpReport(folder.resolve("report.html"), 0));
        assertTrue(e.getMessage().startsWith("layerInterval(0): "), e.getMessage());
    }

    /** Writes a little, and then the disk is full. */
    private static void full(Path file, AtomicFile.Content content) throws IOException {
        AtomicFile.write(file, stream -> {
            stream.write('<');
            throw new IOException("No space left on device");
        });
    }

    @Test
    void onAFullDiskTrainingGoesOnAndTheOldFileStays() throws IOException {
        Logger log = (Logger) LoggerFactory.getLogger(FiguresListener.class);
        ListAppender<ILoggingEvent> lines = new ListAppender<>();
        lines.start();
        log.addAppender(lines);
        try {
            Path file = Files.writeString(folder.resolve("report.html"), "old");
            AmpReport report = new AmpReport(file, 100, AmpReportFileTest::full, () -> now);
            network.setListeners(report);
            epochs(3);
            report.close();
            assertEquals(6, network.getIterationCount());
            assertEquals("old", Files.readString(file));
            assertEquals(List.of(file), files());
            assertEquals(1, lines.list.size());
            assertEquals(Level.WARN, lines.list.get(0).getLevel());
            assertTrue(lines.list.get(0).getFormattedMessage().startsWith("AmpReport to " + file + " failed"));
            assertEquals(
                    "No space left on device", report.failure().orElseThrow().getMessage());
        } finally {
            log.detachAppender(lines);
        }
    }
}
