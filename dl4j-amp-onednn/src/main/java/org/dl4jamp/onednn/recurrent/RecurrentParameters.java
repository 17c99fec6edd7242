package org.dl4jamp.onednn.recurrent;

import java.util.Arrays;
import java.util.Map;
import org.deeplearning4j.exception.DL4JInvalidInputException;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.params.LSTMParamInitializer;
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

    /** Checks the shape of an input {@code [minibatch, nIn, time]}, and of the output of the time step before, as DL4J's layer does. */
    void requireFit(INDArray input, INDArray lastOutput) {
        if (input.size(1) != inputWeights.size(0)) {
            throw new DL4JInvalidInputException("Received input with size(1) = " + input.size(1)
                    + " (input array shape = " + Arrays.toString(input.shape())
                    + "); input.size(1) must match layer nIn size (nIn = " + inputWeights.size(0) + ")");
        }
        Preconditions.checkState(
                lastOutput == null || lastOutput.size(0) == input.size(0),
                "Invalid RNN previous state (last time step activations/initialization): rnnTimeStep with different minibatch size, or forgot to call rnnClearPreviousState between batches?"
                        + " Previous step output = [batch, nIn] = %ndShape, current input = [batch, nIn, seqLength] = %ndShape",
                lastOutput,
                input);
    }

    Gradient asGradient() {
        Gradient gradient = new DefaultGradient();
        gradient.setGradientFor(LSTMParamInitializer.INPUT_WEIGHT_KEY, inputWeights);
        gradient.setGradientFor(LSTMParamInitializer.RECURRENT_WEIGHT_KEY, recurrentWeights);
        gradient.setGradientFor(LSTMParamInitializer.BIAS_KEY, bias);
        return gradient;
    }
}
