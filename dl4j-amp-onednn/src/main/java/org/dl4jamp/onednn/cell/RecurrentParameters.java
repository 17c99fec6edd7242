package org.dl4jamp.onednn.cell;

import java.util.Map;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.params.LSTMParamInitializer;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The parameters of a recurrent layer, or their gradients, in FP32. LSTM and simple RNN have the same names for them.
 *
 * @param inputWeights {@code [nIn, gates * units]}, column by column
 * @param recurrentWeights {@code [units, gates * units]}, column by column
 * @param bias {@code gates * units} numbers
 */
public record RecurrentParameters(INDArray inputWeights, INDArray recurrentWeights, INDArray bias) {
    public static RecurrentParameters of(Map<String, INDArray> table) {
        return new RecurrentParameters(
                table.get(LSTMParamInitializer.INPUT_WEIGHT_KEY),
                table.get(LSTMParamInitializer.RECURRENT_WEIGHT_KEY),
                table.get(LSTMParamInitializer.BIAS_KEY));
    }

    public Gradient asGradient() {
        Gradient gradient = new DefaultGradient();
        gradient.setGradientFor(LSTMParamInitializer.INPUT_WEIGHT_KEY, inputWeights);
        gradient.setGradientFor(LSTMParamInitializer.RECURRENT_WEIGHT_KEY, recurrentWeights);
        gradient.setGradientFor(LSTMParamInitializer.BIAS_KEY, bias);
        return gradient;
    }
}
