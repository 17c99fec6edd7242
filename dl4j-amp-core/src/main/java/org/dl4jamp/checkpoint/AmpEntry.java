package org.dl4jamp.checkpoint;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.Optional;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import java.util.zip.ZipFile;
import org.dl4jamp.config.JsonFields;
import org.dl4jamp.precision.AmpException;

/** The entry of a model zip that holds the {@link AmpState}. DL4J's ModelSerializer reads only its own entries. */
public final class AmpEntry {
    static final String NAME = "amp.json";

    private AmpEntry() {}

    /**
     * Reads the entry of a model zip.
     *
     * @param source the zip's name in messages
     * @return empty if there is none: a model that DL4J wrote
     * @throws AmpException if the zip isn't one, or the entry is truncated, corrupt or newer
     */
    static Optional<AmpState> read(Path zip, String source) throws IOException {
        try (ZipFile file = new ZipFile(zip.toFile())) {
            ZipEntry entry = file.getEntry(NAME);
            if (entry == null) {
                return Optional.empty();
            }
            AmpState state = read(file, entry, where(source));
            boolean gradients =
                    state.waiting().filter(WaitingGradients::needSums).isPresent();
            return Optional.of(gradients ? state.with(GradientsEntry.read(file, source)) : state);
        } catch (ZipException e) {
            throw new AmpException(
                    source + ": truncated or not a model zip (" + e.getMessage() + "); restore from another copy", e);
        }
    }

    /** Returns how messages name the entry. */
    static String where(String source) {
        return source + ", entry " + NAME;
    }

    private static AmpState read(ZipFile file, ZipEntry entry, String where) throws IOException {
        byte[] json;
        try (InputStream stream = file.getInputStream(entry)) {
            // The size in the zip's header may be wrong.
            json = stream.readNBytes(JsonFields.MOST_BYTES + 1);
        } catch (ZipException | EOFException e) {
            throw new AmpException(
                    where + ": truncated or corrupt (" + e.getMessage() + "); restore from another copy", e);
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
}
