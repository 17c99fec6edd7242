package org.dl4jamp.onednn.attention;

import org.nd4j.linalg.api.buffer.DataType;

/**
 * The sizes of queries, keys and values, and where they are. Each is a matrix with a row for each time step of each
 * example. A row holds the numbers of all heads, one head after the other.
 *
 * @param type of queries, keys, values and output
 * @param gradientType of the gradients of queries, keys and values
 * @param gradientFactor of all gradients
 * @param queries their number in an example
 * @param keys their number in an example, and that of values
 * @param queryStride the distance between rows of queries, and between rows of their gradient
 * @param keyStride the distance between rows of keys or values, and between rows of their gradients
 */
record AttentionShape(
        DataType type,
        DataType gradientType,
        double gradientFactor,
        long minibatch,
        long heads,
        long headSize,
        long queries,
        long keys,
        long queryStride,
        long keyStride) {

    /** Returns the numbers of all heads of a row: the distance between rows of the output. */
    long width() {
        return heads * headSize;
    }

    /** Returns the factor of the scores, which keeps their variance (Vaswani et al., 2017). */
    double scale() {
        return 1 / Math.sqrt((double) headSize);
    }

    @Override
    public String toString() {
        return "attention of " + minibatch + " times " + queries + " queries to " + keys + " keys, " + heads
                + " heads of " + headSize;
    }
}
