package org.dl4jamp.onednn.recurrent;

import java.util.Arrays;
import java.util.Map;
import org.deeplearning4j.exception.DL4JInvalidInputException;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.params.LSTMParamInitializer;
import org.dl4jamp.onednn.memory.Rejection;
import org.nd4j.common.base.Preconditions;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The parameters of a recurrent layer, or their gradients, in FP32. LSTM and simple RNN have the same names for them.
 *
 * @param inputWeights {@code [nIn, gates * units]}, column by column
 * @param recurrentWeights {@code [units, gates * units]}, column by column
 * @param bias {@code gates * units} numbers
 */
record RecurrentParameters(INDArray inputWeights, INDArray recurrentWeights, INDArray bias) {
    static RecurrentParameters of(Map<String, INDArray> table) {
        return new RecurrentParameters(
                table.get(LSTMParamInitializer.INPUT_WEIGHT_KEY),
                table.get(LSTMParamInitializer.RECURRENT_WEIGHT_KEY),
                table.get(LSTMParamInitializer.BIAS_KEY));
    }

    /** Checks the shapes of an input, of its mask and of the state before, which a program may have set. */
    void requireFit(RecurrentPasses.Sequences sequences) {
        INDArray input = sequences.input();
        INDArray lastOutput = sequences.initial().output();
        if (input.size(1) != inputWeights.size(0)) {
            throw new DL4JInvalidInputException("Received input with size(1) = " + input.size(1)
                    + " (input array shape = " + Arrays.toString(input.shape())
                    + "); input.size(1) must match layer nIn size (nIn = " + inputWeights.size(0) + ")");
        }
        Preconditions.checkState(
                lastOutput == null || lastOutput.size(0) == input.size(0),
                "Invalid RNN previous state (last time step activations/initialization): rnnTimeStep with different"
                        + " minibatch size, or forgot to call rnnClearPreviousState between batches?"
                        + " Previous step output = [batch, nIn] = %ndShape, current input = [batch, nIn, seqLength] ="
                        + " %ndShape",
                lastOutput,
                input);
        requireFit("output", lastOutput, input);
        requireFit("memory cells", sequences.initial().memory(), input);
        requireMaskFits(sequences.mask(), input);
    }

    private static void requireMaskFits(INDArray mask, INDArray input) {
        long[] expected = {input.size(0), input.size(2)};
        if (mask != null && !Arrays.equals(mask.shape(), expected)) {
            throw new DL4JInvalidInputException("Got a mask of shape " + Arrays.toString(mask.shape())
                    + " for sequences of shape " + Arrays.toString(input.shape())
                    + " [minibatch, size, time]: it has to be [minibatch, time] = " + Arrays.toString(expected));
        }
    }

    /** Checks the shape of the gradient of the outputs. */
    void requireFit(INDArray epsilon, INDArray input) {
        Rejection.ofEpsilon("of a recurrent layer", epsilon, input.size(0), recurrentWeights.size(0), input.size(2));
    }

    private void requireFit(String what, INDArray state, INDArray input) {
        long[] expected = {input.size(0), recurrentWeights.size(0)};
        if (state != null && !Arrays.equals(state.shape(), expected)) {
            throw new DL4JInvalidInputException(
                    "Invalid RNN previous state: the " + what + " of the time step before have shape "
                            + Arrays.toString(state.shape()) + ", and the layer takes [minibatch, nOut] = "
                            + Arrays.toString(expected));
        }
    }

    Gradient asGradient() {
        Gradient gradient = new DefaultGradient();
        gradient.setGradientFor(LSTMParamInitializer.INPUT_WEIGHT_KEY, inputWeights);
        gradient.setGradientFor(LSTMParamInitializer.RECURRENT_WEIGHT_KEY, recurrentWeights);
        gradient.setGradientFor(LSTMParamInitializer.BIAS_KEY, bias);
        return gradient;
    }
}
