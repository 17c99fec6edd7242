package org.dl4jamp.checkpoint;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.zip.CRC32;
import java.util.zip.CheckedInputStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import java.util.zip.ZipFile;
import org.dl4jamp.config.JsonFields;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Restores networks, in mixed precision if they were when they were written. DL4J's ModelSerializer reads only its own
 * entries. Internal: it may change with any version.
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
        AmpException.ifNull(file, "file", "the file to read");
        return read(file, file.toString(), dl4j, enable);
    }

    /** As {@link #read(File, Dl4jCall, BiConsumer)}, from a stream that is read to its end and closed. */
    public static <R> R read(InputStream stream, Dl4jCall<R> dl4j, BiConsumer<R, AmpState> enable) throws IOException {
        AmpException.ifNull(stream, "stream", "the stream to read");
        Path temporary = Files.createTempFile("dl4j-amp", ".zip");
        try (stream) {
            Files.copy(stream, temporary, StandardCopyOption.REPLACE_EXISTING);
            return read(temporary.toFile(), "the stream", dl4j, enable);
        } finally {
            Files.delete(temporary);
        }
    }

    private static <R> R read(File file, String source, Dl4jCall<R> dl4j, BiConsumer<R, AmpState> enable)
            throws IOException {
        // The state first, which takes little time: what can't be enabled shall not cost reading a large network.
        Optional<AmpState> state = state(file.toPath(), source);
        R restored;
        try {
            restored = dl4j.from(file);
        } catch (ZipException | EOFException | RuntimeException e) {
            // DL4J doesn't say which of a program's files it's about.
            throw new AmpException(
                    source + ": corrupt, or a model of another kind (DL4J: " + AmpException.quote(e)
                            + "); restore from another copy, or with the call for its kind",
                    e);
        }
        try {
            state.ifPresent(present -> enable.accept(restored, present));
        } catch (AmpException e) {
            throw new AmpException(source + ", entry " + ModelWriter.STATE + ": " + e.getMessage(), e);
        }
        return restored;
    }

    /**
     * Reads the entries of mixed precision.
     *
     * @param source the zip's name in messages
     * @return empty if there are none: a model that DL4J wrote
     * @throws AmpException if the zip isn't one, or an entry is missing, truncated, corrupt or newer
     */
    static Optional<AmpState> state(Path zip, String source) throws IOException {
        try (ZipFile file = new ZipFile(zip.toFile())) {
            ZipEntry entry = file.getEntry(ModelWriter.STATE);
            if (entry == null) {
                return Optional.empty();
            }
            AmpState state = state(file, entry, source + ", entry " + ModelWriter.STATE);
            boolean gradients =
                    state.waiting().filter(group -> group.skip().isEmpty()).isPresent();
            return Optional.of(
                    gradients ? state.with(gradients(file, source + ", entry " + ModelWriter.GRADIENTS)) : state);
        } catch (ZipException e) {
            throw new AmpException(
                    source + ": truncated or not a model zip (" + e.getMessage() + "); restore from another copy", e);
        }
    }

    private static AmpState state(ZipFile file, ZipEntry entry, String where) throws IOException {
        byte[] json;
        try (InputStream stream = file.getInputStream(entry)) {
            // The size in the zip's header may be wrong.
            json = stream.readNBytes(JsonFields.MOST_BYTES + 1);
        } catch (ZipException | EOFException e) {
            throw corrupt(where, e);
        }
        if (json.length > JsonFields.MOST_BYTES) {
            throw JsonFields.tooLarge(where);
        }
        CRC32 checksum = new CRC32();
        checksum.update(json);
        if (checksum.getValue() != entry.getCrc()) {
            throw new AmpException(where + ": corrupt (its checksum is wrong); restore from another copy");
        }
        return AmpState.fromJson(json, where);
    }

    private static INDArray gradients(ZipFile zip, String where) {
        ZipEntry entry = zip.getEntry(ModelWriter.GRADIENTS);
        if (entry == null) {
            throw new AmpException(where + ": it's missing, although " + ModelWriter.STATE
                    + " says that gradients wait for more; restore from another copy");
        }
        CRC32 checksum = new CRC32();
        INDArray array;
        try (InputStream stream = zip.getInputStream(entry);
                CheckedInputStream checked = new CheckedInputStream(new BufferedInputStream(stream), checksum)) {
            array = Nd4j.read(new DataInputStream(checked));
            checked.readAllBytes();
        } catch (IOException | RuntimeException e) {
            throw corrupt(where, e);
        }
        if (checksum.getValue() != entry.getCrc() || array.dataType() != DataType.FLOAT) {
            throw new AmpException(where + ": corrupt (its checksum or its type, " + array.dataType()
                    + ", is wrong); restore from another copy");
        }
        return array.reshape(array.length());
    }

    private static AmpException corrupt(String where, Exception e) {
        return new AmpException(
                where + ": truncated or corrupt (" + AmpException.quote(e) + "); restore from another copy", e);
    }
}
