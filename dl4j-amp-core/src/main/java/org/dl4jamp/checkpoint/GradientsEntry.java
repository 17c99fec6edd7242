package org.dl4jamp.checkpoint;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.zip.CRC32;
import java.util.zip.CheckedInputStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The entry of a model zip that holds the gradients of micro-batches that wait for more, in the form in which DL4J
 * writes parameters.
 */
public final class GradientsEntry {
    static final String NAME = "ampGradients.bin";

    private GradientsEntry() {}

    /**
     * Reads the entry of a model zip.
     *
     * @param source the zip's name in messages
     * @throws AmpException if it's missing, truncated or corrupt
     */
    static INDArray read(ZipFile zip, String source) {
        String where = source + ", entry " + NAME;
        ZipEntry entry = zip.getEntry(NAME);
        if (entry == null) {
            throw new AmpException(where + ": it's missing, although " + AmpEntry.NAME
                    + " says that gradients wait for more; restore from another copy");
        }
        CRC32 checksum = new CRC32();
        INDArray array;
        try (InputStream stream = zip.getInputStream(entry);
                CheckedInputStream checked = new CheckedInputStream(new BufferedInputStream(stream), checksum)) {
            array = Nd4j.read(new DataInputStream(checked));
            checked.readAllBytes();
        } catch (IOException | RuntimeException e) {
            throw new AmpException(
                    where + ": truncated or corrupt (" + AmpException.quote(e) + "); restore from another copy", e);
        }
        if (checksum.getValue() != entry.getCrc() || array.dataType() != DataType.FLOAT) {
            throw new AmpException(where + ": corrupt (its checksum or its type, " + array.dataType()
                    + ", is wrong); restore from another copy");
        }
        return array.reshape(array.length());
    }
}
