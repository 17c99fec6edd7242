package org.dl4jamp.onednn.cell;

import java.util.Arrays;
import org.deeplearning4j.exception.DL4JInvalidInputException;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.nd4j.common.base.Preconditions;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The input of a recurrent layer, and all else that a forward pass depends on.
 *
 * @param input {@code [minibatch, nIn, time]}
 * @param mask {@code [minibatch, time]}; null for none
 * @param initial the state before, which a program may have set
 */
public record Sequences(INDArray input, INDArray mask, RecurrentState initial, RecurrentParameters parameters) {
    public SequenceShape shape(int gates) {
        return new SequenceShape(input.size(0), input.size(2), input.size(1), units(), gates);
    }

    private long units() {
        return parameters.recurrentWeights().size(0);
    }

    /** Checks the shapes of the input, of its mask and of the state before. */
    public void requireFit() {
        long nIn = parameters.inputWeights().size(0);
        INDArray lastOutput = initial.output();
        if (input.size(1) != nIn) {
            throw new DL4JInvalidInputException("Received input with size(1) = " + input.size(1)
                    + " (input array shape = " + Arrays.toString(input.shape())
                    + "); input.size(1) must match layer nIn size (nIn = " + nIn + ")");
        }
        Preconditions.checkState(
                lastOutput == null || lastOutput.size(0) == input.size(0),
                "Invalid RNN previous state (last time step activations/initialization): rnnTimeStep with different"
                        + " minibatch size, or forgot to call rnnClearPreviousState between batches?"
                        + " Previous step output = [batch, nIn] = %ndShape, current input = [batch, nIn, seqLength] ="
                        + " %ndShape",
                lastOutput,
                input);
        requireFit("output", lastOutput);
        requireFit("memory cells", initial.memory());
        requireMaskFits();
    }

    private void requireMaskFits() {
        long[] expected = {input.size(0), input.size(2)};
        if (mask != null && !Arrays.equals(mask.shape(), expected)) {
            throw new DL4JInvalidInputException("Got a mask of shape " + Arrays.toString(mask.shape())
                    + " for sequences of shape " + Arrays.toString(input.shape())
                    + " [minibatch, size, time]: it has to be [minibatch, time] = " + Arrays.toString(expected));
        }
    }

    public void requireFits(INDArray epsilon) {
        Rejection.ofEpsilon("of a recurrent layer", epsilon, input.size(0), units(), input.size(2));
    }

    private void requireFit(String what, INDArray state) {
        long[] expected = {input.size(0), units()};
        if (state != null && !Arrays.equals(state.shape(), expected)) {
            throw new DL4JInvalidInputException(
                    "Invalid RNN previous state: the " + what + " of the time step before have shape "
                            + Arrays.toString(state.shape()) + ", and the layer takes [minibatch, nOut] = "
                            + Arrays.toString(expected));
        }
    }
}
