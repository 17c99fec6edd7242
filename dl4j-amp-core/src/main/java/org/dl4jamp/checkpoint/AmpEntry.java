package org.dl4jamp.checkpoint;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.Optional;
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
 * The entries of a model zip that hold the {@link AmpState}: one as JSON, and one with the gradients of micro-batches
 * that wait for more, in the form in which DL4J writes parameters. DL4J's ModelSerializer reads only its own entries.
 */
public final class AmpEntry {
    static final String NAME = "amp.json";
    static final String GRADIENTS = "ampGradients.bin";

    private AmpEntry() {}

    /**
     * Reads the entries of a model zip.
     *
     * @param source the zip's name in messages
     * @return empty if there are none: a model that DL4J wrote
     * @throws AmpException if the zip isn't one, or an entry is missing, truncated, corrupt or newer
     */
    static Optional<AmpState> read(Path zip, String source) throws IOException {
        try (ZipFile file = new ZipFile(zip.toFile())) {
            ZipEntry entry = file.getEntry(NAME);
            if (entry == null) {
                return Optional.empty();
            }
            AmpState state = state(file, entry, where(source));
            boolean gradients =
                    state.waiting().filter(group -> group.skip().isEmpty()).isPresent();
            return Optional.of(gradients ? state.with(gradients(file, source + ", entry " + GRADIENTS)) : state);
        } catch (ZipException e) {
            throw new AmpException(
                    source + ": truncated or not a model zip (" + e.getMessage() + "); restore from another copy", e);
        }
    }

    /** Returns how messages name the entry. */
    static String where(String source) {
        return source + ", entry " + NAME;
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
        ZipEntry entry = zip.getEntry(GRADIENTS);
        if (entry == null) {
            throw new AmpException(where + ": it's missing, although " + NAME
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
