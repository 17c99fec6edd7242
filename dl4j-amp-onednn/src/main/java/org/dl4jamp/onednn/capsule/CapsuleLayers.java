package org.dl4jamp.onednn.capsule;

import java.util.List;
import org.deeplearning4j.nn.conf.layers.CapsuleLayer;
import org.dl4jamp.onednn.twin.LayerKernels;

/** Layers of capsules. */
public final class CapsuleLayers {
    private CapsuleLayers() {}

    public static List<LayerKernels<?>> kernels() {
        return List.of(
                new LayerKernels<>(CapsuleLayer.class, CapsuleTwin::new, false).with(LayerKernels.ArrayTypes.IN_FLOAT));
    }
}
