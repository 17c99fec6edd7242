package org.dl4jamp.onednn.twin;

import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.dl4jamp.onednn.activation.ActivationFunction;
import org.dl4jamp.precision.Precision;

/** Layers that make one value of one value. */
public final class ElementWiseLayers {
    private ElementWiseLayers() {}

    public static List<LayerKernels<?>> kernels() {
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
