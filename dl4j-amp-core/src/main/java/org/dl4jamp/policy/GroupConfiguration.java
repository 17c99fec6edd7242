package org.dl4jamp.policy;

import java.util.Optional;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.Deconvolution3D;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DepthwiseConvolution2D;
import org.deeplearning4j.nn.conf.layers.FeedForwardLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationIdentity;
import org.nd4j.linalg.activations.impl.ActivationPReLU;
import org.nd4j.linalg.activations.impl.ActivationRReLU;
import org.nd4j.linalg.activations.impl.ActivationSoftmax;

/** The configuration of a layer that computes what a product layer and those behind it compute. */
public final class GroupConfiguration {
    private GroupConfiguration() {}

    /**
     * Returns whether a layer returns its products as they are, so that more may be computed with them. Sequences are
     * left out: a mask comes between the layer and the next one.
     */
    static boolean canLead(Layer layer) {
        boolean multiplies = layer instanceof DenseLayer dense
                ? !dense.hasLayerNorm()
                : layer instanceof ConvolutionLayer && !(layer instanceof Convolution1DLayer);
        return multiplies
                && LayerTable.lists(layer.getClass())
                && ((BaseLayer) layer).getActivationFn().getClass() == ActivationIdentity.class;
    }

    /**
     * Returns whether a layer is a batch normalization of the channels that another makes. It has one channel axis for
     * images and vectors. Subclasses may compute anything.
     *
     * @param head one that {@linkplain #canLead can lead}
     */
    static boolean canFold(Layer head, Layer follower) {
        boolean volumes = head instanceof Convolution3D || head instanceof Deconvolution3D;
        if (volumes || follower.getClass() != BatchNormalization.class) {
            return false;
        }
        BatchNormalization normalization = (BatchNormalization) follower;
        boolean sameFormat = !(head instanceof ConvolutionLayer convolution)
                || convolution.getCnn2dDataFormat() == normalization.getCnn2DFormat();
        return sameFormat && normalization.getNOut() == channels((FeedForwardLayer) head);
    }

    private static long channels(FeedForwardLayer head) {
        return head instanceof DepthwiseConvolution2D depthwise
                ? depthwise.getNIn() * depthwise.getDepthMultiplier()
                : head.getNOut();
    }

    /** Returns the function that a layer applies to each value, if that's all it does, the same in each pass. */
    static Optional<IActivation> function(Layer layer) {
        if (layer.getClass() != ActivationLayer.class) {
            return Optional.empty();
        }
        IActivation function = ((ActivationLayer) layer).getActivationFn();
        boolean ofOneValue = function.getClass().getPackage() == ActivationIdentity.class.getPackage()
                && !(function instanceof ActivationSoftmax
                        || function instanceof ActivationPReLU
                        || function instanceof ActivationRReLU);
        return ofOneValue ? Optional.of(function) : Optional.empty();
    }

    /**
     * Returns the configuration.
     *
     * @param head of the product layer, which stays as it is
     * @param normalized whether a batch normalization is folded in, which takes a bias
     * @param function applied to the result; null for nothing
     */
    public static Layer of(Layer head, boolean normalized, IActivation function) {
        BaseLayer own = (BaseLayer) head.clone();
        if (normalized && own instanceof DenseLayer dense) {
            dense.setHasBias(true);
        }
        if (normalized && own instanceof ConvolutionLayer convolution) {
            convolution.setHasBias(true);
        }
        if (function != null) {
            own.setActivationFn(function);
        }
        return own;
    }
}
