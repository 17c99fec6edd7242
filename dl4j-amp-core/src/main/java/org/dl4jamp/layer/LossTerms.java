package org.dl4jamp.layer;

import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.layers.Cnn3DLossLayer;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.RnnLossLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Counts the terms of which a loss is the sum: examples, times time steps or positions. */
final class LossTerms {
    private LossTerms() {}

    /**
     * Returns the number of terms, counted in the output layer's input: {@code [minibatch, features]}, or with
     * positions, in the order of axes that the layer takes. Labels have the same examples and positions, but may have
     * fewer channels, as class numbers, or more.
     */
    static long of(Layer layer, INDArray input) {
        if (input.rank() < 3) {
            return input.size(0);
        }
        return input.length() / input.size(hasChannelsLast(layer) ? input.rank() - 1 : 1);
    }

    private static boolean hasChannelsLast(Layer layer) {
        if (layer instanceof CnnLossLayer loss) {
            return loss.getFormat() == CNN2DFormat.NHWC;
        }
        if (layer instanceof Cnn3DLossLayer loss) {
            return loss.getDataFormat() == Convolution3D.DataFormat.NDHWC;
        }
        if (layer instanceof RnnLossLayer loss) {
            return loss.getRnnDataFormat() == RNNFormat.NWC;
        }
        return layer instanceof RnnOutputLayer output && output.getRnnDataFormat() == RNNFormat.NWC;
    }
}
