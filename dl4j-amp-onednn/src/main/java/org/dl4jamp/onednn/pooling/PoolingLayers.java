package org.dl4jamp.onednn.pooling;

import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.Pooling1D;
import org.deeplearning4j.nn.conf.layers.Pooling2D;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.Subsampling1DLayer;
import org.deeplearning4j.nn.conf.layers.Subsampling3DLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.LayerKernels;
import org.dl4jamp.precision.Precision;
import org.nd4j.linalg.api.buffer.DataType;

/** Layers that take a maximum, an average or a norm. */
public final class PoolingLayers {
    private PoolingLayers() {}

    public static List<LayerKernels<?>> kernels() {
        return List.of(
                pooling(SubsamplingLayer.class),
                pooling(Pooling2D.class),
                sequencePooling(Subsampling1DLayer.class),
                sequencePooling(Pooling1D.class),
                new LayerKernels<>(
                                Subsampling3DLayer.class,
                                (layer, precision) -> maximumOrAverage(layer, layer.getPoolingType()),
                                PoolingTwin::new,
                                true)
                        .in(layer -> ChannelAxis.of(layer.getDataFormat())),
                new LayerKernels<>(GlobalPoolingLayer.class, PoolingLayers::global, GlobalPoolingTwin::new, false)
                        .in(GlobalPoolingTwin::axis)
                        .with(LayerKernels.ArrayTypes.SUMMED_IN_FLOAT));
    }

    private static Optional<String> global(GlobalPoolingLayer layer, Precision precision) {
        return layer.getPoolingType() == PoolingType.PNORM ? norm(layer.getPnorm()) : LayerKernels.COVERED;
    }

    private static <L extends SubsamplingLayer> LayerKernels<L> pooling(Class<L> type) {
        return new LayerKernels<>(type, (layer, precision) -> without(layer), PoolingLayers::make, false)
                .in(layer -> ChannelAxis.of(layer.getCnn2dDataFormat()));
    }

    private static <L extends Subsampling1DLayer> LayerKernels<L> sequencePooling(Class<L> type) {
        return new LayerKernels<>(type, PoolingLayers::sequencePooling, PoolingLayers::make, false)
                .in(layer -> ChannelAxis.of(layer.getCnn2dDataFormat()));
    }

    // DL4J pads the axis that sequences don't have as well, and doesn't shift windows into the past.
    private static Optional<String> sequencePooling(Subsampling1DLayer layer, Precision precision) {
        if (layer.getPadding()[0] != 0) {
            return LayerKernels.because("padded pooling of sequences");
        }
        if (layer.getConvolutionMode() == ConvolutionMode.Causal) {
            return LayerKernels.because("causal pooling");
        }
        return without(layer);
    }

    private static org.deeplearning4j.nn.api.Layer make(
            NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        boolean norm = ((SubsamplingLayer) conf.getLayer()).getPoolingType() == PoolingType.PNORM;
        return norm ? new PNormTwin(conf, type, context) : new PoolingTwin(conf, type, context);
    }

    private static Optional<String> without(SubsamplingLayer layer) {
        return layer.getPoolingType() == PoolingType.PNORM
                ? norm(layer.getPnorm())
                : maximumOrAverage(layer, layer.getPoolingType());
    }

    private static Optional<String> norm(int p) {
        return p >= 2 && p <= PowerKernels.LARGEST
                ? LayerKernels.COVERED
                : LayerKernels.because("PNORM pooling with p = " + p + ", only 2 to " + PowerKernels.LARGEST);
    }

    private static Optional<String> maximumOrAverage(Layer layer, PoolingType type) {
        if (type != PoolingType.MAX && type != PoolingType.AVG) {
            return LayerKernels.because(type + " pooling");
        }
        return PoolingForm.of(layer).mayAverageNothing()
                ? LayerKernels.because("averages of windows that see nothing but padding")
                : LayerKernels.COVERED;
    }
}
