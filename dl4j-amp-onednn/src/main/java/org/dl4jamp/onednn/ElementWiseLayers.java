package org.dl4jamp.onednn;

import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.dl4jamp.Precision;

/** Layers that make one value of one value. */
final class ElementWiseLayers {
    private ElementWiseLayers() {}

    static List<LayerKernels<?>> kernels() {
        return List.of(
                new LayerKernels<>(ActivationLayer.class, ElementWiseLayers::activation, ActivationTwin::new, false),
                new LayerKernels<>(
                        DropoutLayer.class, (layer, precision) -> LayerKernels.COVERED, DropoutTwin::new, true));
    }

    private static Optional<String> activation(ActivationLayer layer, Precision precision) {
        return ActivationFunction.isElementWise(layer.getActivationFn())
                ? LayerKernels.COVERED
                : LayerKernels.because("activation function " + layer.getActivationFn());
    }
}
