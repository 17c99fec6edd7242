package org.dl4jamp.engine.nd4j;

import java.util.Set;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.Convolution2D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationHardSigmoid;
import org.nd4j.linalg.activations.impl.ActivationIdentity;
import org.nd4j.linalg.activations.impl.ActivationSigmoid;
import org.nd4j.linalg.activations.impl.ActivationSoftmax;

/** Makes the twins that multiply HALF matrices, for the layers that have one. */
final class HalfProductTwins {
    private static final Set<Class<? extends IActivation>> GATES =
            Set.of(ActivationSigmoid.class, ActivationHardSigmoid.class);

    private HalfProductTwins() {}

    /** Returns whether there is one for a layer, which is without the dropout that the wrapper applies. */
    static boolean exist(Layer layer) {
        if (layer.getIDropout() != null || (layer instanceof BaseLayer base && base.getWeightNoise() != null)) {
            return false;
        }
        // Subclasses may compute anything.
        Class<?> type = layer.getClass();
        if (type == DenseLayer.class) {
            return !((DenseLayer) layer).hasLayerNorm();
        }
        if (type == ConvolutionLayer.class || type == Convolution2D.class) {
            return fits((ConvolutionLayer) layer);
        }
        return type == LSTM.class
                && GATES.contains(((LSTM) layer).getGateActivationFn().getClass());
    }

    private static boolean fits(ConvolutionLayer convolution) {
        IActivation activation = convolution.getActivationFn();
        boolean elementwise = activation.getClass().getPackage() == ActivationIdentity.class.getPackage()
                && !(activation instanceof ActivationSoftmax);
        return elementwise && convolution.getCnn2dDataFormat() == CNN2DFormat.NCHW;
    }

    /** Makes one for a layer for which they {@link #exist}, without its weights, which are HALF. */
    static org.deeplearning4j.nn.api.Layer make(NeuralNetConfiguration conf, Products products) {
        if (conf.getLayer() instanceof DenseLayer) {
            return new DenseTwin(conf, products);
        }
        return conf.getLayer() instanceof LSTM ? new LstmTwin(conf, products) : new ConvolutionTwin(conf, products);
    }
}
