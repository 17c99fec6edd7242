package org.dl4jamp.onednn.scores;

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
 * @param ofQueries the distances within queries, and within their gradient
 * @param ofKeys the distances within keys or values, and within their gradients
 * @param ofOutput the distances within the output, and within its gradient
 */
public record AttentionShape(
        DataType type,
        DataType gradientType,
        double gradientFactor,
        long minibatch,
        long heads,
        long headSize,
        long queries,
        long keys,
        Strides ofQueries,
        Strides ofKeys,
        Strides ofOutput) {

    /** The distances between two rows of an example, and between the first rows of two examples. */
    public record Strides(long row, long example) {
        /** Returns those of rows that follow each other, and of examples that follow each other. */
        public static Strides dense(long row, long rows) {
            return new Strides(row, row * rows);
        }
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
