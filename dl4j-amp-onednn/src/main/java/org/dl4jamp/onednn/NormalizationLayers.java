package org.dl4jamp.onednn;

import java.util.List;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.LocalResponseNormalization;

/** Layers that normalize. */
final class NormalizationLayers {
    private NormalizationLayers() {}

    static List<LayerKernels<?>> kernels() {
        return List.of(
                new LayerKernels<>(
                                BatchNormalization.class,
                                (layer, precision) -> LayerKernels.COVERED,
                                BatchNormTwin::new,
                                false)
                        .in(layer -> ChannelAxis.of(layer.getCnn2DFormat()))
                        .with(LayerKernels.ArrayTypes.HALF_ON_BOTH_SIDES),
                new LayerKernels<>(
                                LocalResponseNormalization.class,
                                (layer, precision) -> LayerKernels.COVERED,
                                LrnTwin::new,
                                false)
                        .in(layer -> ChannelAxis.of(layer.getDataFormat()))
                        .with(LayerKernels.ArrayTypes.HALF_ON_BOTH_SIDES));
    }
}
