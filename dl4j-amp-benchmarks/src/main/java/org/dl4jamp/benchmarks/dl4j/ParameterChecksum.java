package org.dl4jamp.benchmarks.dl4j;

import java.nio.ByteBuffer;
import java.util.zip.CRC32;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.nd4j.linalg.api.buffer.DataBuffer;

/** A checksum of initial parameters, to compare two processes without copying the parameters. */
public final class ParameterChecksum {
    private static final int CHUNK = 1 << 14;

    private ParameterChecksum() {}

    /** Returns the checksum of a network's parameters. */
    public static long of(NeuralNetwork network) {
        DataBuffer parameters =
                ((org.deeplearning4j.nn.api.Model) network).params().data();
        CRC32 sum = new CRC32();
        ByteBuffer chunk = ByteBuffer.allocate(CHUNK * Float.BYTES);
        for (long from = 0; from < parameters.length(); from += CHUNK) {
            long to = Math.min(from + CHUNK, parameters.length());
            chunk.clear();
            for (long i = from; i < to; i++) {
                chunk.putFloat(parameters.getFloat(i));
            }
            sum.update(chunk.flip());
        }
        return sum.getValue();
    }
}
