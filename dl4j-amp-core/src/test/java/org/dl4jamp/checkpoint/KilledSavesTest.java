package org.dl4jamp.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Tests what a killed save leaves behind, and which save removes it. */
class KilledSavesTest extends OverOldFile {
    @Test
    void theOldFileIsWholeAndTheNextSaveRemovesTheRest() throws IOException, InterruptedException {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                        SavesForAMinute.class.getName(),
                        file.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (BufferedReader output =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.US_ASCII))) {
            while (!"half".equals(output.readLine())) {
                assertTrue(process.isAlive());
            }
            assertEquals(2, names().size());
        } finally {
            process.destroyForcibly();
        }
        assertTrue(process.waitFor(1, TimeUnit.MINUTES));
        assertEquals("old", Files.readString(file));
        assertEquals(2, names().size());

        AtomicFile.write(folder.resolve("other.zip"), stream -> stream.write(NEW));
        assertEquals(3, names().size());
        AtomicFile.write(file, stream -> stream.write(NEW));
        assertEquals(Set.of("model.zip", "other.zip"), names());
        assertEquals("new", Files.readString(file));
    }

    @Test
    void filesOfOthersStay() throws IOException {
        Set<String> others = Set.of(".model.zip.bak", ".model.zip.bak.unfinished2", "model.zip.x.1.unfinished");
        for (String other : others) {
            Files.writeString(folder.resolve(other), "a user's");
        }
        Path link = folder.resolve(".model.zip.17.unfinished");
        Files.createSymbolicLink(link, Path.of("model.zip"));
        AtomicFile.write(file, stream -> stream.write(NEW));
        Set<String> expected = new HashSet<>(others);
        expected.add("model.zip");
        expected.add(link.getFileName().toString());
        assertEquals(expected, names());
    }

    @Test
    void filesOfOtherSavesStayThoughTheirNamesBeginAlike() throws IOException {
        String ofLongerName = ".model.zip.old.17.unfinished";
        Files.writeString(folder.resolve(ofLongerName), "half");
        AtomicFile.write(file, stream -> stream.write(NEW));
        assertEquals(Set.of("model.zip", ofLongerName), names());
    }

    /** Long names don't fit into those of the files beside them. */
    @Test
    void unfinishedFilesOfLongNamesAreToldApart() throws IOException {
        for (String begin : List.of("m".repeat(200), "\uD83D\uDE00".repeat(40))) {
            Path one = folder.resolve(begin + "-1.zip");
            Path other = folder.resolve(begin + "-2.zip");
            AtomicFile.write(one, stream -> {
                Set<String> before = names();
                AtomicFile.write(other, inner -> {
                    Set<String> added = new HashSet<>(names());
                    added.removeAll(before);
                    String ofOther = added.iterator().next();
                    assertEquals(1, added.size());
                    String beginning = ofOther.substring(0, ofOther.lastIndexOf('.', ofOther.lastIndexOf('.') - 1) + 1);
                    assertTrue(before.stream().noneMatch(name -> name.startsWith(beginning)), ofOther);
                });
            });
            assertTrue(Files.exists(one) && Files.exists(other));
        }
    }

    @Test
    void savesOfOneProcessToTheSameFileLeaveEachOtherAlone() throws IOException {
        AtomicFile.write(file, stream -> {
            stream.write(NEW);
            AtomicFile.write(file, inner -> inner.write(NEW, 0, 1));
            assertEquals("n", Files.readString(file));
            assertEquals(2, names().size());
        });
        assertEquals("new", Files.readString(file));
        assertEquals(Set.of("model.zip"), names());
    }

    @Test
    void aSaveWhoseUnfinishedFileAnotherProcessRemovesFailsAndTheOldFileStays() throws IOException {
        assertThrows(
                NoSuchFileException.class,
                () -> AtomicFile.write(file, stream -> {
                    stream.write(NEW);
                    for (String name : names()) {
                        if (name.endsWith(".unfinished")) {
                            Files.delete(folder.resolve(name));
                        }
                    }
                }));
        assertEquals("old", Files.readString(file));
        assertEquals(Set.of("model.zip"), names());
    }

    private Set<String> names() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return Set.copyOf(files.map(path -> path.getFileName().toString()).toList());
        }
    }

    /** Says when it has written a part of the file, and then takes its time. */
    static final class SavesForAMinute {
        private SavesForAMinute() {}

        public static void main(String[] arguments) throws IOException {
            AtomicFile.write(Path.of(arguments[0]), stream -> {
                stream.write(NEW, 0, 1);
                stream.flush();
                System.out.println("half");
                try {
                    TimeUnit.MINUTES.sleep(1);
                } catch (InterruptedException e) {
                    throw new IOException(e);
                }
            });
        }
    }
}
