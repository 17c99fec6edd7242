package org.dl4jamp.onednn.attention;

import java.util.Arrays;
import org.deeplearning4j.exception.DL4JInvalidInputException;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The shapes that masks of keys may have. */
final class KeyMask {
    private KeyMask() {}

    /**
     * Checks a mask. DL4J takes one row for all examples, and one number for all keys, too.
     *
     * @param mask {@code [minibatch, time]}; null for none
     * @param keys {@code [minibatch, nIn, time]}
     */
    static void requireFit(INDArray mask, INDArray keys) {
        if (mask == null) {
            return;
        }
        boolean fits = mask.rank() == 2 && fits(mask.size(0), keys.size(0)) && fits(mask.size(1), keys.size(2));
        if (!fits) {
            throw new DL4JInvalidInputException("Got a mask of shape " + Arrays.toString(mask.shape())
                    + " for sequences of shape " + Arrays.toString(keys.shape())
                    + " [minibatch, size, time]: it has to be [minibatch, time] = ["
                    + keys.size(0) + ", " + keys.size(2) + "]");
        }
    }

    private static boolean fits(long size, long expected) {
        return size == expected || size == 1;
    }
}
