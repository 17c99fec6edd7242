package org.dl4jamp.checkpoint;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** A folder with an old file that a test saves over. */
abstract class OverOldFile {
    static final byte[] NEW = "new".getBytes(StandardCharsets.US_ASCII);

    @TempDir
    Path folder;

    Path file;

    @BeforeEach
    void writeOldFile() throws IOException {
        file = folder.resolve("model.zip");
        Files.writeString(file, "old");
    }
}
