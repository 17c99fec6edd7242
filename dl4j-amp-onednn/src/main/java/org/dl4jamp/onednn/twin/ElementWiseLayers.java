package org.dl4jamp.onednn.twin;

import java.util.List;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.deeplearning4j.nn.conf.layers.PReLULayer;
import org.deeplearning4j.nn.conf.layers.misc.ElementWiseMultiplicationLayer;

/** Layers that apply an activation function or dropout, or multiply each number by a parameter. */
public final class ElementWiseLayers {
    private ElementWiseLayers() {}

    public static List<LayerKernels<?>> kernels() {
        return List.of(
                new LayerKernels<>(ActivationLayer.class, ActivationTwin::new, false),
                new LayerKernels<>(DropoutLayer.class, DropoutTwin::new, true),
                new LayerKernels<>(PReLULayer.class, PreluTwin::new, true),
                new LayerKernels<>(
                        ElementWiseMultiplicationLayer.class,
                        (layer, precision) -> ScaleTwin.without(layer),
                        ScaleTwin::new,
                        true));
    }
}
