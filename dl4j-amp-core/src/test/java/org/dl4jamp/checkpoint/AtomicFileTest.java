package org.dl4jamp.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class AtomicFileTest extends OverOldFile {
    @Test
    void theNewFileReplacesTheOldOne() throws IOException {
        AtomicFile.write(file, stream -> stream.write(NEW));
        assertEquals("new", Files.readString(file));
        assertEquals(1, filesInFolder());
    }

    @Test
    void aFileThatIsReplacedKeepsItsPermissions() throws IOException {
        assumeTrue(Files.getFileStore(file).supportsFileAttributeView("posix"));
        Set<PosixFilePermission> permissions = PosixFilePermissions.fromString("rw-rw-r-x");
        Files.setPosixFilePermissions(file, permissions);
        AtomicFile.write(file, stream -> stream.write(NEW));
        assertEquals(permissions, Files.getPosixFilePermissions(file));
    }

    @Test
    void aNewFileHasThePermissionsOfAnyNewFile() throws IOException {
        assumeTrue(Files.getFileStore(file).supportsFileAttributeView("posix"));
        Path other = Files.createFile(folder.resolve("other"));
        Path made = folder.resolve("new.zip");
        AtomicFile.write(made, stream -> stream.write(NEW));
        assertEquals(Files.getPosixFilePermissions(other), Files.getPosixFilePermissions(made));
    }

    @Test
    void namesMayBeAsLongAsTheyGet() throws IOException {
        Path named = folder.resolve("n".repeat(255));
        AtomicFile.write(named, stream -> stream.write(NEW));
        assertEquals("new", Files.readString(named));
    }

    @Test
    void theOldFileIsThereUntilTheNewOneIsWhole() throws IOException {
        AtomicFile.write(file, stream -> {
            stream.write(NEW);
            assertEquals("old", Files.readString(file));
        });
    }

    @Test
    void aFailureLeavesTheOldFileAndNothingElse() throws IOException {
        IOException e = assertThrows(
                IOException.class,
                () -> AtomicFile.write(file, stream -> {
                    stream.write(NEW, 0, 1);
                    throw new IOException("No space left on device");
                }));
        assertEquals("No space left on device", e.getMessage());
        assertEquals("old", Files.readString(file));
        assertEquals(1, filesInFolder());
    }

    @Test
    void anInterruptDoesNotSpoilTheFile() throws IOException {
        Thread.currentThread().interrupt();
        try {
            AtomicFile.write(file, stream -> stream.write(NEW));
        } finally {
            assertTrue(Thread.interrupted());
        }
        assertEquals("new", Files.readString(file));
    }

    @Test
    void nobodyElseMayReadTheNewFileMeanwhileIfTheOldOneIsPrivate() throws IOException {
        assumeTrue(Files.getFileStore(file).supportsFileAttributeView("posix"));
        Set<PosixFilePermission> owners = PosixFilePermissions.fromString("rw-------");
        Files.setPosixFilePermissions(file, owners);
        AtomicFile.write(file, stream -> {
            try (Stream<Path> files = Files.list(folder)) {
                for (Path any : files.toList()) {
                    assertEquals(owners, Files.getPosixFilePermissions(any), any.toString());
                }
            }
        });
    }

    @Test
    void aLinkToAFileThatIsNotThereYetStaysALinkAsWithDl4j() throws IOException {
        Path there = Files.createDirectory(folder.resolve("elsewhere")).resolve("first.zip");
        Path link = Files.createSymbolicLink(folder.resolve("latest.zip"), Path.of("elsewhere", "first.zip"));
        Path linkToLink = Files.createSymbolicLink(folder.resolve("best.zip"), Path.of("latest.zip"));
        AtomicFile.write(linkToLink, stream -> stream.write(NEW));
        assertTrue(Files.isSymbolicLink(link));
        assertTrue(Files.isSymbolicLink(linkToLink));
        assertEquals("new", Files.readString(there));
    }

    @Test
    void linksThatLeadNowhereAreRefused() throws IOException {
        Path missing = Files.createSymbolicLink(folder.resolve("a"), Path.of("missing", "model.zip"));
        Path circle = Files.createSymbolicLink(folder.resolve("b"), Path.of("b"));
        for (Path link : new Path[] {missing, circle}) {
            FileSystemException e =
                    assertThrows(FileSystemException.class, () -> AtomicFile.write(link, stream -> stream.write(NEW)));
            assertTrue(e.getMessage().startsWith(folder.toString()), e.getMessage());
            assertTrue(Files.isSymbolicLink(link));
        }
        assertEquals(3, filesInFolder());
    }

    @Test
    void aFolderIsRefusedByName() throws IOException {
        Path inside = Files.createDirectory(folder.resolve("models"));
        Path link = Files.createSymbolicLink(folder.resolve("link"), inside);
        for (Path target : new Path[] {inside, link}) {
            FileSystemException e = assertThrows(
                    FileSystemException.class, () -> AtomicFile.write(target, stream -> stream.write(NEW)));
            assertEquals(target + ": is a folder; give the name of a file in it", e.getMessage());
        }
        assertTrue(Files.isDirectory(inside));
        assertTrue(Files.isSymbolicLink(link));
    }

    @Test
    void aPipeIsWrittenStraightAndStaysOne() throws IOException, InterruptedException {
        Path pipe = folder.resolve("pipe");
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/mkfifo")));
        assertEquals(
                0,
                new ProcessBuilder("/usr/bin/mkfifo", pipe.toString()).start().waitFor());
        Path link = Files.createSymbolicLink(folder.resolve("link"), pipe);
        for (Path target : new Path[] {pipe, link}) {
            Process reader = new ProcessBuilder("cat", pipe.toString()).start();
            try {
                AtomicFile.write(target, stream -> stream.write(NEW));
                assertTrue(Files.readAttributes(pipe, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
                        .isOther());
                assertEquals("new", new String(reader.getInputStream().readAllBytes(), StandardCharsets.US_ASCII));
            } finally {
                reader.destroyForcibly();
            }
        }
        assertTrue(Files.isSymbolicLink(link));
    }

    private long filesInFolder() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.count();
        }
    }
}
