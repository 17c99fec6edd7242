package org.dl4jamp.onednn.normalization;

import java.util.List;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.LocalResponseNormalization;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.twin.LayerKernels;

/** Layers that normalize. */
public final class NormalizationLayers {
    private NormalizationLayers() {}

    public static List<LayerKernels<?>> kernels() {
        return List.of(
                new LayerKernels<>(BatchNormalization.class, BatchNormTwin::new, false)
                        .in(layer -> ChannelAxis.of(layer.getCnn2DFormat()))
                        .with(LayerKernels.ArrayTypes.HALF_ON_BOTH_SIDES),
                new LayerKernels<>(LocalResponseNormalization.class, LrnTwin::new, false)
                        .in(layer -> ChannelAxis.of(layer.getDataFormat()))
                        .with(LayerKernels.ArrayTypes.IN_FLOAT));
    }
}
