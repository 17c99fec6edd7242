package org.dl4jamp.onednn.local;

import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LocallyConnected1D;
import org.deeplearning4j.nn.conf.layers.LocallyConnected2D;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.twin.LayerKernels;
import org.nd4j.linalg.activations.Activation;

/** Layers that multiply each window by weights of its own. */
public final class LocalLayers {
    private LocalLayers() {}

    public static List<LayerKernels<?>> kernels() {
        return List.of(
                new LayerKernels<>(LocallyConnected1D.class, (layer, precision) -> local(layer), LocalTwin::new, false),
                new LayerKernels<>(LocallyConnected2D.class, (layer, precision) -> local(layer), LocalTwin::new, false)
                        .in(layer -> ChannelAxis.of(layer.getFormat())));
    }

    private static Optional<String> local(Layer layer) {
        Activation activation = LocalForm.of(layer).activation();
        return LocalForm.has(activation)
                ? LayerKernels.COVERED
                : LayerKernels.because("SameDiff's function " + activation);
    }
}
