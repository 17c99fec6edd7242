package org.dl4jamp.onednn.twin;

import java.util.List;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;

/** Layers that make one value of one value. */
public final class ElementWiseLayers {
    private ElementWiseLayers() {}

    public static List<LayerKernels<?>> kernels() {
        return List.of(
                new LayerKernels<>(
                        ActivationLayer.class,
                        (layer, precision) -> LayerKernels.activation(layer.getActivationFn(), ""),
                        ActivationTwin::new,
                        false),
                new LayerKernels<>(DropoutLayer.class, DropoutTwin::new, true));
    }
}
