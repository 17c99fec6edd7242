package org.dl4jamp.onednn;

import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.dl4jamp.Precision;

/** Layers that normalize. */
final class NormalizationLayers {
    private NormalizationLayers() {}

    static List<LayerKernels<?>> kernels() {
        return List.of(new LayerKernels<>(
                BatchNormalization.class, NormalizationLayers::batchNormalization, BatchNormTwin::new, false));
    }

    private static Optional<String> batchNormalization(BatchNormalization layer, Precision precision) {
        return Images.without(layer.getCnn2DFormat());
    }
}
