package org.dl4jamp.onednn;

import java.util.Optional;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.Convolution2D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.Pooling2D;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.dl4jamp.Precision;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationIdentity;
import org.nd4j.linalg.activations.impl.ActivationSoftmax;

/** Which layers have a twin. */
final class Coverage {
    private static final Optional<String> COVERED = Optional.empty();

    private Coverage() {}

    /** Why a layer has no twin in a precision, empty if it has one. */
    static Optional<String> without(Layer layer, Precision precision) {
        // Subclasses may compute anything.
        Class<?> type = layer.getClass();
        if (type == DenseLayer.class) {
            return ((DenseLayer) layer).hasLayerNorm() ? because("layer normalization") : product((DenseLayer) layer);
        }
        if (type == ConvolutionLayer.class || type == Convolution2D.class) {
            ConvolutionLayer convolution = (ConvolutionLayer) layer;
            return format(convolution.getCnn2dDataFormat()).or(() -> product(convolution));
        }
        if (type == BatchNormalization.class) {
            return format(((BatchNormalization) layer).getCnn2DFormat());
        }
        if (type == SubsamplingLayer.class || type == Pooling2D.class) {
            return pooling((SubsamplingLayer) layer, precision);
        }
        if (type == ActivationLayer.class) {
            IActivation activation = ((ActivationLayer) layer).getActivationFn();
            return Eltwise.of(activation).isPresent() ? COVERED : because("activation function " + activation);
        }
        return because(type.getSimpleName());
    }

    private static Optional<String> product(BaseLayer layer) {
        if (layer.getWeightNoise() != null) {
            return because("weight noise");
        }
        IActivation activation = layer.getActivationFn();
        boolean elementWise = activation.getClass().getPackage() == ActivationIdentity.class.getPackage()
                && !(activation instanceof ActivationSoftmax);
        return elementWise ? COVERED : because("activation function " + activation + " after products");
    }

    private static Optional<String> pooling(SubsamplingLayer layer, Precision precision) {
        PoolingType type = layer.getPoolingType();
        boolean overlap =
                layer.getKernelSize()[0] > layer.getStride()[0] || layer.getKernelSize()[1] > layer.getStride()[1];
        if (type == PoolingType.AVG && overlap && precision.isHalf()) {
            return Optional.of("it would add the gradients of overlapping averages up in " + precision);
        }
        return type == PoolingType.MAX || type == PoolingType.AVG
                ? format(layer.getCnn2dDataFormat())
                : because(type + " pooling");
    }

    private static Optional<String> format(CNN2DFormat format) {
        return format == CNN2DFormat.NCHW ? COVERED : because("format " + format);
    }

    private static Optional<String> because(String what) {
        return Optional.of("it has no kernel for " + what);
    }
}
