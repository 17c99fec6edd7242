package org.dl4jamp.onednn.pooling;

import org.bytedeco.dnnl.global.dnnl;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.Subsampling1DLayer;
import org.deeplearning4j.nn.conf.layers.Subsampling3DLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.dl4jamp.onednn.memory.ChannelAxis;

/** The form of one of DL4J's subsampling layers. */
record PoolingForm(Window window, ChannelAxis channels, dnnl.algorithm kind) {
    static PoolingForm of(Layer layer) {
        return layer instanceof Subsampling3DLayer volume ? of(volume) : of((SubsamplingLayer) layer);
    }

    private static PoolingForm of(SubsamplingLayer layer) {
        Window window = new Window(
                layer instanceof Subsampling1DLayer ? 1 : 2,
                layer.getKernelSize(),
                layer.getStride(),
                layer.getPadding(),
                layer.getDilation(),
                layer.getConvolutionMode());
        return new PoolingForm(
                window,
                ChannelAxis.of(layer.getCnn2dDataFormat()),
                algorithm(layer.getPoolingType(), layer.isAvgPoolIncludePadInDivisor()));
    }

    private static PoolingForm of(Subsampling3DLayer layer) {
        Window window = new Window(
                3,
                layer.getKernelSize(),
                layer.getStride(),
                layer.getPadding(),
                layer.getDilation(),
                layer.getConvolutionMode());
        return new PoolingForm(window, ChannelAxis.of(layer.getDataFormat()), algorithm(layer.getPoolingType(), false));
    }

    private static dnnl.algorithm algorithm(PoolingType type, boolean paddingCounts) {
        if (type == PoolingType.MAX) {
            return dnnl.algorithm.pooling_max;
        }
        return paddingCounts ? dnnl.algorithm.pooling_avg_include_padding : dnnl.algorithm.pooling_avg_exclude_padding;
    }

    /** Returns whether some average may be one of no numbers: DL4J's is NaN, and oneDNN makes no primitive. */
    boolean mayAverageNothing() {
        return kind == dnnl.algorithm.pooling_avg_exclude_padding && window.maySeeOnlyPadding();
    }

    /**
     * Returns whether the backward pass adds up more than one gradient. oneDNN adds those of averages up in the type of
     * the arrays.
     */
    boolean addsUpGradients() {
        return kind != dnnl.algorithm.pooling_max && window.overlaps();
    }
}
