package org.dl4jamp.onednn.twin;

import java.util.Arrays;
import org.deeplearning4j.exception.DL4JInvalidInputException;
import org.dl4jamp.onednn.primitive.Window;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Broadcast;

/** The mask after a one-dimensional convolution or pooling: a step counts if its window covers one that counts. */
public final class SequenceMask {
    private SequenceMask() {}

    /**
     * Makes the steps of a layer's output that don't count zero.
     *
     * @param mask of the layer's input, {@code [minibatch, steps]}, ones and zeros
     * @param sequences the output, {@code [minibatch, channels, steps]}
     */
    public static void apply(Window window, INDArray mask, INDArray sequences) {
        INDArray steps = window.mask(mask);
        if (sequences.size(0) != steps.size(0) || sequences.size(2) != steps.size(1)) {
            throw new DL4JInvalidInputException("Activations of shape " + Arrays.toString(sequences.shape())
                    + " and mask of shape " + Arrays.toString(steps.shape()) + " don't match in axes 0, 2 and 0, 1");
        }
        Broadcast.mul(sequences, steps.castTo(sequences.dataType()), sequences, 0, 2);
    }
}
