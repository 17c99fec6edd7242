package org.dl4jamp.checkpoint;

import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.zip.ZipException;
import org.dl4jamp.precision.AmpException;

/**
 * Restores networks, in mixed precision if they were when they were written. Internal: it may change with any version.
 */
public final class ModelReader {
    private ModelReader() {}

    /** One of DL4J's calls that restore from a zip. */
    public interface Dl4jCall<R> {
        R from(File zip) throws IOException;
    }

    /**
     * Restores what is in a zip.
     *
     * @param dl4j restores the network, or the network and more
     * @param enable enables mixed precision on it
     */
    public static <R> R read(File file, Dl4jCall<R> dl4j, BiConsumer<R, AmpState> enable) throws IOException {
        return restore(file, String.valueOf(file), dl4j, enable);
    }

    /** As {@link #read(File, Dl4jCall, BiConsumer)}, from a stream that is read to its end and closed. */
    public static <R> R read(InputStream stream, Dl4jCall<R> dl4j, BiConsumer<R, AmpState> enable) throws IOException {
        AmpException.ifNull(stream, "stream", "the stream to read");
        Path temporary = Files.createTempFile("dl4j-amp", ".zip");
        try (stream) {
            Files.copy(stream, temporary, StandardCopyOption.REPLACE_EXISTING);
            return restore(temporary.toFile(), "the stream", dl4j, enable);
        } finally {
            Files.delete(temporary);
        }
    }

    /** @param source the zip's name in messages */
    static <R> R restore(File file, String source, Dl4jCall<R> dl4j, BiConsumer<R, AmpState> enable)
            throws IOException {
        AmpException.ifNull(file, "file", "the file to read");
        // First, because it's quick: a file that can't be restored in mixed precision shall not cost reading a large
        // network.
        Optional<AmpState> state = AmpEntry.read(file.toPath(), source);
        R restored = restore(file, source, dl4j);
        state.ifPresent(present -> {
            try {
                enable.accept(restored, present);
            } catch (AmpException e) {
                throw new AmpException(AmpEntry.where(source) + ": " + e.getMessage(), e);
            }
        });
        return restored;
    }

    private static <R> R restore(File file, String source, Dl4jCall<R> dl4j) throws IOException {
        try {
            return dl4j.from(file);
        } catch (ZipException | EOFException | RuntimeException e) {
            // DL4J doesn't say which of a program's files it's about.
            throw new AmpException(
                    source + ": corrupt, or a model of another kind (DL4J: " + AmpException.quote(e)
                            + "); restore from another copy, or with the call for its kind",
                    e);
        }
    }
}
