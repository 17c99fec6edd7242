package org.dl4jamp.onednn.linear;

import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.Convolution1D;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.Convolution2D;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.Deconvolution2D;
import org.deeplearning4j.nn.conf.layers.Deconvolution3D;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DepthwiseConvolution2D;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.SeparableConvolution2D;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.primitive.Eltwise;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.LayerKernels;
import org.dl4jamp.onednn.twin.Noise;
import org.dl4jamp.precision.Precision;
import org.nd4j.linalg.api.buffer.DataType;

/** Layers that multiply by weights: dense and convolutional. */
public final class ProductLayers {
    private static final Set<Class<?>> SUMMED =
            Set.of(DenseLayer.class, ConvolutionLayer.class, Convolution2D.class, SeparableConvolution2D.class);

    private ProductLayers() {}

    public static List<LayerKernels<?>> kernels() {
        return List.of(
                new LayerKernels<>(DenseLayer.class, ProductLayers::product, ProductLayers::denseTwin, true),
                convolution(ConvolutionLayer.class),
                convolution(Convolution2D.class),
                convolution(Convolution1DLayer.class),
                convolution(Convolution1D.class),
                convolution(Convolution3D.class),
                convolution(Deconvolution2D.class),
                convolution(Deconvolution3D.class),
                convolution(DepthwiseConvolution2D.class),
                new LayerKernels<>(
                                SeparableConvolution2D.class,
                                ProductLayers::product,
                                SeparableConvolutionTwin::new,
                                true)
                        .in(layer -> ChannelAxis.of(layer.getCnn2dDataFormat())));
    }

    /**
     * Returns whether a layer's kernels can add another array to the products, before an activation function of
     * oneDNN's.
     */
    public static boolean sum(Layer layer) {
        return SUMMED.contains(layer.getClass())
                && Eltwise.of(((BaseLayer) layer).getActivationFn()).isPresent();
    }

    private static <L extends ConvolutionLayer> LayerKernels<L> convolution(Class<L> type) {
        return new LayerKernels<>(type, ProductLayers::convolution, ConvolutionTwin::new, true)
                .in(layer -> ConvolutionForm.of(layer).channels());
    }

    private static org.deeplearning4j.nn.api.Layer denseTwin(
            NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        return ((DenseLayer) conf.getLayer()).hasLayerNorm()
                ? new NormalizedDenseTwin(conf, type, context)
                : new DenseTwin(conf, type, context);
    }

    private static Optional<String> convolution(ConvolutionLayer layer, Precision precision) {
        if (layer instanceof Deconvolution3D
                && ConvolutionForm.of(layer).window().isLargeWithStrides()) {
            return LayerKernels.because("kernels of 7 or more with strides");
        }
        if (layer instanceof Deconvolution3D && precision.isHalf()) {
            // oneDNN's gradients of the weights are wrong there, for small volumes even with kernels of 2 and without
            // strides.
            return LayerKernels.because("volumes spread out in BFLOAT16");
        }
        boolean mayCropInSame =
                layer instanceof Convolution3D || layer instanceof Deconvolution2D || layer instanceof Deconvolution3D;
        return mayCropInSame && ConvolutionForm.of(layer).window().cropsInSame()
                ? LayerKernels.because("strides in mode Same that are larger than the kernel by two or more")
                : product(layer, precision);
    }

    private static Optional<String> product(BaseLayer layer, Precision precision) {
        return Noise.without(layer);
    }
}
