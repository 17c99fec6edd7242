package org.dl4jamp.onednn.normalization;

import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.LocalResponseNormalization;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.twin.LayerKernels;
import org.dl4jamp.precision.Precision;

/** Layers that normalize. */
public final class NormalizationLayers {
    private NormalizationLayers() {}

    public static List<LayerKernels<?>> kernels() {
        return List.of(
                new LayerKernels<>(BatchNormalization.class, BatchNormTwin::new, false)
                        .in(layer -> ChannelAxis.of(layer.getCnn2DFormat()))
                        .with(LayerKernels.ArrayTypes.HALF_ON_BOTH_SIDES),
                new LayerKernels<>(LocalResponseNormalization.class, NormalizationLayers::without, LrnTwin::new, false)
                        .in(layer -> ChannelAxis.of(layer.getDataFormat()))
                        .with(LayerKernels.ArrayTypes.IN_FLOAT));
    }

    /** oneDNN doesn't sum up a single channel, and gives wrong gradients for more than five of them. */
    private static Optional<String> without(LocalResponseNormalization layer, Precision precision) {
        return layer.getN() >= 2 && layer.getN() < 6
                ? LayerKernels.COVERED
                : LayerKernels.because(
                        "local response normalization over n = " + (long) layer.getN() + ", only 2 to 5");
    }
}
