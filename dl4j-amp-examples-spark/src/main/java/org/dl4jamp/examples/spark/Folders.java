package org.dl4jamp.examples.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;

/** Folders that have to be gone in the end. */
final class Folders {
    private static final int ATTEMPTS = 20;
    private static final long PAUSE_MILLIS = 100;

    private Folders() {}

    /** Removes a folder with all that is in it. Processes that are ending may still write into it for a moment. */
    static void remove(Path folder) {
        for (int attempt = 1; Files.exists(folder); attempt++) {
            try {
                removeOnce(folder);
            } catch (IOException e) {
                if (attempt == ATTEMPTS) {
                    throw new UncheckedIOException(e);
                }
                try {
                    Thread.sleep(PAUSE_MILLIS);
                } catch (InterruptedException interrupted) {
                    Thread.currentThread().interrupt();
                    throw new UncheckedIOException(e);
                }
            }
        }
    }

    private static void removeOnce(Path folder) throws IOException {
        Files.walkFileTree(folder, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.deleteIfExists(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException error) throws IOException {
                if (error instanceof NoSuchFileException) {
                    return FileVisitResult.CONTINUE;
                }
                throw error;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path visited, IOException error) throws IOException {
                Files.deleteIfExists(visited);
                return FileVisitResult.CONTINUE;
            }
        });
    }
}
