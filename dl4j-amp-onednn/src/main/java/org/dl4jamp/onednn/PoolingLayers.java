package org.dl4jamp.onednn;

import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.conf.layers.Pooling2D;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.dl4jamp.Precision;

/** Layers that take a maximum or an average. */
final class PoolingLayers {
    private PoolingLayers() {}

    static List<LayerKernels<?>> kernels() {
        return List.of(
                new LayerKernels<>(SubsamplingLayer.class, PoolingLayers::pooling, PoolingTwin::new, false),
                new LayerKernels<>(Pooling2D.class, PoolingLayers::pooling, PoolingTwin::new, false));
    }

    private static Optional<String> pooling(SubsamplingLayer layer, Precision precision) {
        PoolingType type = layer.getPoolingType();
        boolean overlap =
                layer.getKernelSize()[0] > layer.getStride()[0] || layer.getKernelSize()[1] > layer.getStride()[1];
        if (type == PoolingType.AVG && overlap && precision.isHalf()) {
            return Optional.of("it would add the gradients of overlapping averages up in " + precision);
        }
        return type == PoolingType.MAX || type == PoolingType.AVG
                ? Images.without(layer.getCnn2dDataFormat())
                : LayerKernels.because(type + " pooling");
    }
}
