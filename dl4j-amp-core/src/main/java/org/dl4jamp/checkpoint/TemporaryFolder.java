package org.dl4jamp.checkpoint;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A new folder that is deleted with the files in it when it's closed. A folder and not a file, because the zip file
 * system makes a temporary file of its own beside the one that it changes.
 */
record TemporaryFolder(Path path) implements Closeable {
    static TemporaryFolder in(Path parent, String prefix) throws IOException {
        return new TemporaryFolder(Files.createTempDirectory(parent, prefix));
    }

    @Override
    public void close() throws IOException {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(path)) {
            for (Path file : files) {
                Files.delete(file);
            }
        }
        Files.delete(path);
    }
}
