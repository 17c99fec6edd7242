package org.dl4jamp.onednn.attention;

import java.util.List;
import org.deeplearning4j.nn.conf.layers.SelfAttentionLayer;
import org.dl4jamp.onednn.twin.LayerKernels;

/** Layers of attention. */
public final class AttentionLayers {
    private AttentionLayers() {}

    public static List<LayerKernels<?>> kernels() {
        return List.of(new LayerKernels<>(SelfAttentionLayer.class, SelfAttentionTwin::new, false));
    }
}
