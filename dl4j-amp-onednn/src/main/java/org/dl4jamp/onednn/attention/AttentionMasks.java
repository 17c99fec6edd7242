package org.dl4jamp.onednn.attention;

import java.util.Arrays;
import org.deeplearning4j.exception.DL4JInvalidInputException;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.impl.transforms.custom.Min;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The masks of an attention: 1 for time steps that count, and 0 for others, {@code [minibatch, time]}. As in DL4J, one
 * row for all examples, or one number for all time steps, will do. Each may be null.
 *
 * @param queries the factor of each query's output
 * @param keys only keys count that count here and among {@code values}
 */
record AttentionMasks(INDArray queries, INDArray keys, INDArray values) {
    static final AttentionMasks NONE = new AttentionMasks(null, null, null);

    /** DL4J adds this much to the score of a key that is masked. */
    private static final double MASKED = -1e9;

    /** Returns the masks of an attention to the time steps of one input. */
    static AttentionMasks ofKeys(INDArray mask) {
        return new AttentionMasks(null, mask, null);
    }

    /** Returns whether a mask has a shape for sequences {@code [minibatch, size, time]}. */
    static boolean fits(INDArray mask, INDArray sequences) {
        return mask == null
                || (mask.rank() == 2 && fits(mask.size(0), sequences.size(0)) && fits(mask.size(1), sequences.size(2)));
    }

    private static boolean fits(long size, long expected) {
        return size == expected || size == 1;
    }

    /** Checks the shape of a mask of sequences {@code [minibatch, size, time]}. */
    static void requireFit(INDArray mask, INDArray sequences) {
        if (!fits(mask, sequences)) {
            throw new DL4JInvalidInputException("Got a mask of shape " + Arrays.toString(mask.shape())
                    + " for sequences of shape " + Arrays.toString(sequences.shape())
                    + " [minibatch, size, time]: it has to be [minibatch, time] = ["
                    + sequences.size(0) + ", " + sequences.size(2) + "]");
        }
    }

    /** Returns what DL4J adds to the scores of each key, FLOAT {@code [minibatch, keys]}; null for nothing. */
    INDArray summands(INDArray sequences, AttentionMemory memory) {
        if (keys == null || values == null) {
            return summands(keys == null ? values : keys, sequences, memory);
        }
        INDArray ofKeys = summands(keys, sequences, memory);
        Nd4j.exec(new Min(ofKeys, summands(values, sequences, memory), ofKeys));
        return ofKeys;
    }

    private static INDArray summands(INDArray mask, INDArray sequences, AttentionMemory memory) {
        return mask == null ? null : copy(mask, sequences, memory).subi(1).muli(-MASKED);
    }

    /** Returns the factors of each query's output, FLOAT {@code [minibatch, queries]}; null for 1. */
    INDArray factors(INDArray sequences, AttentionMemory memory) {
        return queries == null ? null : copy(queries, sequences, memory);
    }

    private static INDArray copy(INDArray mask, INDArray sequences, AttentionMemory memory) {
        INDArray copy = memory.create(DataType.FLOAT, sequences.size(0), sequences.size(2));
        return copy.assign(mask.length() == copy.length() ? mask : mask.broadcast(copy.shape()));
    }
}
