package org.dl4jamp.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AtomicFileTest {
    private static final int KILLED = 137;

    @TempDir
    private Path folder;

    private Path file;

    @BeforeEach
    void writeOldFile() throws IOException {
        file = folder.resolve("model.zip");
        Files.writeString(file, "old");
    }

    @Test
    void theNewFileReplacesTheOldOne() throws IOException {
        AtomicFile.write(file, temporary -> Files.writeString(temporary, "new"));
        assertEquals("new", Files.readString(file));
        assertEquals(1, filesInFolder());
    }

    @Test
    void aFileThatIsReplacedKeepsItsPermissions() throws IOException {
        assumeTrue(Files.getFileStore(file).supportsFileAttributeView("posix"));
        Set<PosixFilePermission> permissions = PosixFilePermissions.fromString("rw-rw-r-x");
        Files.setPosixFilePermissions(file, permissions);
        AtomicFile.write(file, temporary -> Files.writeString(temporary, "new"));
        assertEquals(permissions, Files.getPosixFilePermissions(file));
    }

    @Test
    void namesMayBeAsLongAsTheyGet() throws IOException {
        Path named = folder.resolve("n".repeat(255));
        AtomicFile.write(named, temporary -> Files.writeString(temporary, "new"));
        assertEquals("new", Files.readString(named));
    }

    @Test
    void theOldFileIsThereUntilTheNewOneIsWhole() throws IOException {
        AtomicFile.write(file, temporary -> {
            Files.writeString(temporary, "new");
            assertEquals("old", Files.readString(file));
        });
    }

    @Test
    void aFailureLeavesTheOldFileAndNothingElse() throws IOException {
        IOException e = assertThrows(
                IOException.class,
                () -> AtomicFile.write(file, temporary -> {
                    Files.writeString(temporary, "half of the n");
                    throw new IOException("No space left on device");
                }));
        assertEquals("No space left on device", e.getMessage());
        assertEquals("old", Files.readString(file));
        assertEquals(1, filesInFolder());
    }

    @Test
    void aKilledProcessLeavesTheOldFileWhole() throws IOException, InterruptedException {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                        KilledWhileWriting.class.getName(),
                        file.toString())
                .inheritIO()
                .start();
        assertTrue(process.waitFor(1, TimeUnit.MINUTES));
        assertEquals(KILLED, process.exitValue());
        assertEquals("old", Files.readString(file));
    }

    private long filesInFolder() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.count();
        }
    }

    /** Ends, without any cleaning up, after half of a file. */
    static final class KilledWhileWriting {
        private KilledWhileWriting() {}

        public static void main(String[] arguments) throws IOException {
            AtomicFile.write(Path.of(arguments[0]), temporary -> {
                Files.writeString(temporary, "half of the n");
                Runtime.getRuntime().halt(KILLED);
            });
        }
    }
}
