package org.dl4jamp.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.dl4jamp.Networks;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nd4j.linalg.learning.config.Sgd;

/** Saving needs the space of the model and no more, and gives it back when it fails. */
class DiskSpaceTest {
    private static final int KIB = 1024;

    @TempDir
    private Path folder;

    @Test
    void eachByteOfTheFileIsWrittenOnce() throws IOException {
        Path zip = folder.resolve("model.zip");
        for (String what : new String[] {"new", "replaced"}) {
            assertEquals(bytesWrittenToFiles(() -> save(zip)), Files.size(zip), what);
        }
    }

    @Test
    void aStreamTakesNoFile() throws IOException {
        ByteArrayOutputStream stream = new ByteArrayOutputStream();
        long written = bytesWrittenToFiles(
                () -> ModelZip.write(network(), Optional.of(AmpStateTest.STATE), stream, true, null));
        assertEquals(0, written);
        assertTrue(stream.size() > 0);
    }

    @Test
    void aSaveThatRunsOutOfSpaceLeavesTheOldFileAndNothingOpen() throws IOException, InterruptedException {
        Path openFiles = Path.of("/proc/self/fd");
        assumeTrue(Files.isDirectory(openFiles) && Files.isExecutable(Path.of("/bin/bash")));
        Path zip = folder.resolve("model.zip");
        Files.writeString(zip, "old");
        // One that DL4J's entries fit into, and one that they don't.
        for (long room : new long[] {sizeOfDl4jsFile() / KIB + 1, 100}) {
            runWithFilesOfAtMost(room, zip);
        }
    }

    private void runWithFilesOfAtMost(long kib, Path zip) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(
                        "/bin/bash",
                        "-c",
                        "ulimit -f " + kib + " && exec \"$@\"",
                        "bash",
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        // The error file of a JVM that crashes would be too long as well.
                        "-Xmx1g",
                        "-cp",
                        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                        SavesWithoutRoom.class.getName(),
                        zip.toString())
                .inheritIO()
                .start();
        assertTrue(process.waitFor(2, TimeUnit.MINUTES));
        assertEquals(0, process.exitValue(), kib + " KiB");
        assertEquals("old", Files.readString(zip));
        assertEquals(List.of("model.zip"), names());
    }

    private List<String> names() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString()).toList();
        }
    }

    private long sizeOfDl4jsFile() throws IOException {
        File file = folder.resolve("stock.zip").toFile();
        ModelSerializer.writeModel(network(), file, true);
        long size = file.length();
        Files.delete(file.toPath());
        return size;
    }

    /** Tries to save, and exits with 0 if that fails as a full disk does and leaves no file open. */
    static final class SavesWithoutRoom {
        private SavesWithoutRoom() {}

        public static void main(String[] arguments) throws IOException {
            Path zip = Path.of(arguments[0]);
            try {
                save(zip);
                throw new AssertionError("saved without room");
            } catch (IOException expected) {
                List<String> open = openFilesIn(zip.getParent());
                if (!open.isEmpty()) {
                    throw new AssertionError("still open: " + open, expected);
                }
            }
        }

        private static List<String> openFilesIn(Path folder) throws IOException {
            try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
                return descriptors
                        .flatMap(descriptor -> {
                            try {
                                return Stream.of(
                                        Files.readSymbolicLink(descriptor).toString());
                            } catch (IOException closedMeanwhile) {
                                return Stream.empty();
                            }
                        })
                        .filter(file -> file.startsWith(folder + "/"))
                        .toList();
            }
        }
    }

    private static void save(Path zip) throws IOException {
        ModelZip.write(network(), Optional.of(AmpStateTest.STATE), zip.toFile(), true, null);
    }

    /** Of some 300 KiB, whose numbers can't be compressed much. */
    private static MultiLayerNetwork network() {
        MultiLayerConfiguration configuration = Networks.builder(new Sgd(0.1))
                .list()
                .layer(new DenseLayer.Builder().nIn(200).nOut(400).build())
                .layer(new OutputLayer.Builder().nIn(400).nOut(3).build())
                .build();
        return Networks.init(configuration);
    }

    private interface Saving {
        void run() throws IOException;
    }

    /** Counts what is written to files in folders for temporary files, such as the one of this test. */
    private long bytesWrittenToFiles(Saving saving) throws IOException {
        Path events = Files.createTempFile(folder, "events", ".jfr");
        try (Recording recording = new Recording()) {
            recording.enable("jdk.FileWrite").withThreshold(Duration.ZERO).withoutStackTrace();
            recording.start();
            saving.run();
            recording.stop();
            recording.dump(events);
        }
        String temporary =
                Path.of(System.getProperty("java.io.tmpdir")).toRealPath().toString();
        long written = RecordingFile.readAllEvents(events).stream()
                .filter(event -> isIn(temporary, event))
                .mapToLong(event -> event.getLong("bytesWritten"))
                .sum();
        Files.delete(events);
        return written;
    }

    private static boolean isIn(String folder, RecordedEvent event) {
        String path = event.getString("path");
        return path != null && path.startsWith(folder);
    }
}
