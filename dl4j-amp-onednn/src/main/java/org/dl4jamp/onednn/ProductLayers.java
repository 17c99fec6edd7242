package org.dl4jamp.onednn;

import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.Convolution2D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.dl4jamp.Precision;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationIdentity;
import org.nd4j.linalg.activations.impl.ActivationSoftmax;

/** Layers that multiply by weights: dense and convolutional. */
final class ProductLayers {
    private ProductLayers() {}

    static List<LayerKernels<?>> kernels() {
        return List.of(
                new LayerKernels<>(DenseLayer.class, ProductLayers::dense, DenseTwin::new, true),
                new LayerKernels<>(ConvolutionLayer.class, ProductLayers::convolution, ConvolutionTwin::new, true),
                new LayerKernels<>(Convolution2D.class, ProductLayers::convolution, ConvolutionTwin::new, true));
    }

    private static Optional<String> dense(DenseLayer layer, Precision precision) {
        return layer.hasLayerNorm() ? LayerKernels.because("layer normalization") : product(layer);
    }

    private static Optional<String> convolution(ConvolutionLayer layer, Precision precision) {
        return Images.without(layer.getCnn2dDataFormat()).or(() -> product(layer));
    }

    private static Optional<String> product(BaseLayer layer) {
        if (layer.getWeightNoise() != null) {
            return LayerKernels.because("weight noise");
        }
        IActivation activation = layer.getActivationFn();
        boolean elementWise = activation.getClass().getPackage() == ActivationIdentity.class.getPackage()
                && !(activation instanceof ActivationSoftmax);
        return elementWise
                ? LayerKernels.COVERED
                : LayerKernels.because("activation function " + activation + " after products");
    }
}
