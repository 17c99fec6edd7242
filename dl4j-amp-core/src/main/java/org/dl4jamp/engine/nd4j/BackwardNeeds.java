package org.dl4jamp.engine.nd4j;

import java.util.Set;
import java.util.function.Predicate;
import org.deeplearning4j.nn.conf.layers.*;
import org.deeplearning4j.nn.conf.layers.convolutional.Cropping1D;
import org.deeplearning4j.nn.conf.layers.convolutional.Cropping2D;
import org.deeplearning4j.nn.conf.layers.convolutional.Cropping3D;
import org.deeplearning4j.nn.conf.layers.misc.ElementWiseMultiplicationLayer;
import org.deeplearning4j.nn.conf.layers.misc.RepeatVector;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.conf.layers.util.MaskLayer;
import org.deeplearning4j.nn.conf.layers.util.MaskZeroLayer;
import org.deeplearning4j.nn.conf.layers.wrapper.BaseWrapperLayer;
import org.dl4jamp.twin.Twin.Retention;

/**
 * Tells what DL4J's layers need of their forward pass in the backward pass. Those listed here read their input again
 * and compute the rest anew, so that the wrapper can keep that input in half precision. All others, and users' classes,
 * get the FP32 array of the forward pass back.
 */
final class BackwardNeeds {
    private static final Set<Class<? extends Layer>> INPUT_ONLY = Set.of(
            ActivationLayer.class,
            BatchNormalization.class,
            Bidirectional.class,
            Cnn3DLossLayer.class,
            CnnLossLayer.class,
            Convolution1D.class,
            Convolution1DLayer.class,
            Convolution2D.class,
            Convolution3D.class,
            ConvolutionLayer.class,
            Cropping1D.class,
            Cropping2D.class,
            Cropping3D.class,
            Deconvolution2D.class,
            Deconvolution3D.class,
            DenseLayer.class,
            DepthwiseConvolution2D.class,
            DropoutLayer.class,
            ElementWiseMultiplicationLayer.class,
            EmbeddingLayer.class,
            EmbeddingSequenceLayer.class,
            GlobalPoolingLayer.class,
            GravesBidirectionalLSTM.class,
            GravesLSTM.class,
            LSTM.class,
            LearnedSelfAttentionLayer.class,
            LocalResponseNormalization.class,
            LocallyConnected1D.class,
            LocallyConnected2D.class,
            LossLayer.class,
            MaskLayer.class,
            MaskZeroLayer.class,
            OutputLayer.class,
            PReLULayer.class,
            Pooling1D.class,
            Pooling2D.class,
            RecurrentAttentionLayer.class,
            RepeatVector.class,
            RnnLossLayer.class,
            RnnOutputLayer.class,
            SelfAttentionLayer.class,
            SeparableConvolution2D.class,
            SimpleRnn.class,
            SpaceToBatchLayer.class,
            SpaceToDepthLayer.class,
            Subsampling1DLayer.class,
            Subsampling3DLayer.class,
            SubsamplingLayer.class,
            Upsampling1D.class,
            Upsampling2D.class,
            Upsampling3D.class,
            ZeroPadding1DLayer.class,
            ZeroPadding3DLayer.class,
            ZeroPaddingLayer.class);

    private BackwardNeeds() {}

    /**
     * Returns what the wrapper has to keep for a layer. One that applies its input dropout itself, which isn't lifted,
     * needs the array that it masked.
     */
    static Retention of(Layer layer, boolean dropoutLifted) {
        boolean masksItself = !dropoutLifted && isAny(layer, each -> each.getIDropout() != null && !isEmbedding(each));
        // DL4J keeps the weights of this step, noise included, where it keeps the layer's input.
        boolean keepsNoisyWeights =
                isAny(layer, each -> each instanceof BaseLayer base && base.getWeightNoise() != null);
        return INPUT_ONLY.contains(layer.getClass()) && !masksItself && !keepsNoisyWeights
                ? Retention.INPUT
                : Retention.CAST_INPUT;
    }

    /** Tests the layers within a layer that wraps others, or else the layer itself. */
    private static boolean isAny(Layer layer, Predicate<Layer> test) {
        if (layer instanceof BaseWrapperLayer wrapper) {
            return isAny(wrapper.getUnderlying(), test);
        }
        if (layer instanceof Bidirectional bidirectional) {
            return isAny(bidirectional.getFwd(), test) || isAny(bidirectional.getBwd(), test);
        }
        return test.test(layer);
    }

    /** Returns whether a layer is an embedding: DL4J's ignore their dropout. */
    static boolean isEmbedding(Layer layer) {
        return layer instanceof EmbeddingLayer || layer instanceof EmbeddingSequenceLayer;
    }
}
