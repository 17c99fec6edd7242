package org.dl4jamp.onednn.embedding;

import java.util.List;
import org.deeplearning4j.nn.conf.layers.EmbeddingLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingSequenceLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.onednn.twin.LayerKernels;
import org.dl4jamp.precision.Precision;

/** Layers that look rows of a table up. Their inputs are indices, which must not be rounded. */
public final class EmbeddingLayers {
    private EmbeddingLayers() {}

    public static List<LayerKernels<?>> kernels() {
        return List.of(
                new LayerKernels<>(EmbeddingLayer.class, EmbeddingTwin::new, false)
                        .with(LayerKernels.ArrayTypes.IN_FLOAT),
                new LayerKernels<>(EmbeddingSequenceLayer.class, EmbeddingSequenceTwin::new, false)
                        .with(LayerKernels.ArrayTypes.IN_FLOAT));
    }

    public static boolean isEmbedding(Layer layer) {
        return layer instanceof EmbeddingLayer || layer instanceof EmbeddingSequenceLayer;
    }

    public static String how(Precision precision) {
        return precision == Precision.FLOAT
                ? "looks FP32 rows up, column by column"
                : "looks FP32 rows up, rounded once";
    }
}
