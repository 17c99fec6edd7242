package org.dl4jamp.onednn.attention;

import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.conf.graph.AttentionVertex;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LearnedSelfAttentionLayer;
import org.deeplearning4j.nn.conf.layers.RecurrentAttentionLayer;
import org.deeplearning4j.nn.conf.layers.SelfAttentionLayer;
import org.dl4jamp.dl4j.RecurrentAttentionFunctions;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.LayerKernels;
import org.dl4jamp.onednn.vertex.VertexTwin;
import org.dl4jamp.precision.Precision;

/** Layers of attention, and the vertex. */
public final class AttentionLayers {
    private static final List<LayerKernels<?>> KERNELS = List.of(
            new LayerKernels<>(SelfAttentionLayer.class, SelfAttentionTwin::new, false),
            new LayerKernels<>(LearnedSelfAttentionLayer.class, LearnedSelfAttentionTwin::new, false),
            new LayerKernels<>(
                    RecurrentAttentionLayer.class, AttentionLayers::recurrent, RecurrentAttentionTwin::new, false));

    private AttentionLayers() {}

    private static Optional<String> recurrent(RecurrentAttentionLayer layer, Precision precision) {
        return RecurrentAttentionFunctions.of(layer).isPresent()
                ? LayerKernels.COVERED
                : LayerKernels.because("activation function " + layer.getActivation() + " in recurrent attention");
    }

    public static List<LayerKernels<?>> kernels() {
        return KERNELS;
    }

    public static boolean isAttention(Layer layer) {
        return KERNELS.stream().anyMatch(kernels -> kernels.type() == layer.getClass());
    }

    /** Returns whether a vertex has a twin. Subclasses may compute anything, and have none. */
    public static boolean isAttention(GraphVertex vertex) {
        return vertex.getClass() == AttentionVertex.class;
    }

    public static VertexTwin vertex(VertexRequest request, OneDnnContext context) {
        return new AttentionVertexTwin(request, context);
    }

    /** Returns the text of the plan. */
    public static String how(Precision precision) {
        return precision == Precision.FLOAT
                ? "FP32, through oneDNN, scores block by block"
                : "computes " + precision + ", scores and softmax in FP32, block by block";
    }
}
