package org.dl4jamp.onednn.twin;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.deeplearning4j.nn.conf.layers.AbstractLSTM;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.BaseRecurrentLayer;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SeparableConvolution2D;
import org.deeplearning4j.nn.conf.weightnoise.DropConnect;
import org.deeplearning4j.nn.conf.weightnoise.IWeightNoise;
import org.deeplearning4j.nn.conf.weightnoise.WeightNoise;
import org.deeplearning4j.nn.params.DefaultParamInitializer;
import org.deeplearning4j.nn.params.LSTMParamInitializer;
import org.deeplearning4j.nn.params.SeparableConvolutionParamInitializer;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * DL4J's weight noise. A layer with it multiplies by parameters that are drawn in the forward pass and kept for the
 * backward pass. DL4J's own code draws them; a twin calls it in the order of DL4J's layer, so that a seeded network has
 * the same numbers.
 */
public final class Noise {
    private static final String WEIGHTS = DefaultParamInitializer.WEIGHT_KEY;
    private static final String BIAS = DefaultParamInitializer.BIAS_KEY;
    private static final String POINT = SeparableConvolutionParamInitializer.POINT_WISE_WEIGHT_KEY;
    private static final String RECURRENT = LSTMParamInitializer.RECURRENT_WEIGHT_KEY;

    private Noise() {}

    public static boolean isIn(BaseLayer layer) {
        return layer.getWeightNoise() != null;
    }

    /**
     * Returns why a layer has no twin because of its noise; empty if it has one. A user's noise may change weights in
     * inference, where they are copied once.
     */
    public static Optional<String> without(BaseLayer layer) {
        IWeightNoise noise = layer.getWeightNoise();
        boolean isKnown =
                noise == null || noise.getClass() == DropConnect.class || noise.getClass() == WeightNoise.class;
        return isKnown
                ? LayerKernels.COVERED
                : LayerKernels.because("weight noise of " + noise.getClass().getName());
    }

    /** Returns whether a layer's biases are noisy in inference, too, as DL4J's are. */
    public static boolean changesBiases(BaseLayer layer) {
        IWeightNoise noise = layer.getWeightNoise();
        return noise instanceof DropConnect connect
                ? connect.isApplyToBiases()
                : noise instanceof WeightNoise sum && sum.isApplyToBias();
    }

    /**
     * Returns a layer's parameters, the noisy ones in place of their own.
     *
     * @param draw draws a parameter, or returns the one that was drawn for the same step
     * @param backward whether it's for a backward pass, which draws only after a forward pass in inference mode
     */
    public static Map<String, INDArray> drawn(
            BaseLayer layer, Map<String, INDArray> parameters, Function<String, INDArray> draw, boolean backward) {
        if (!isIn(layer)) {
            return parameters;
        }
        Map<String, INDArray> noisy = new HashMap<>(parameters);
        order(layer, backward).forEach(name -> noisy.put(name, draw.apply(name)));
        return noisy;
    }

    /** Returns the noisy parameters in the order in which DL4J's layer draws them. */
    private static List<String> order(BaseLayer layer, boolean backward) {
        if (layer instanceof Convolution1DLayer) {
            return List.of();
        }
        if (layer instanceof Convolution3D volumes) {
            return volumes.hasBias() ? List.of(WEIGHTS, BIAS) : List.of(WEIGHTS);
        }
        if (layer instanceof SeparableConvolution2D) {
            return backward ? List.of(WEIGHTS, POINT, BIAS) : List.of(BIAS, WEIGHTS, POINT);
        }
        if (layer instanceof ConvolutionLayer || layer instanceof RnnOutputLayer) {
            return backward ? List.of(WEIGHTS, BIAS) : List.of(BIAS, WEIGHTS);
        }
        if (layer instanceof AbstractLSTM && !backward) {
            return List.of(RECURRENT, WEIGHTS, BIAS);
        }
        return layer instanceof BaseRecurrentLayer ? List.of(WEIGHTS, RECURRENT, BIAS) : List.of(WEIGHTS, BIAS);
    }
}
