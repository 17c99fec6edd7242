package org.dl4jamp.onednn.attention;

import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.deeplearning4j.nn.conf.graph.AttentionVertex;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LearnedSelfAttentionLayer;
import org.deeplearning4j.nn.conf.layers.RecurrentAttentionLayer;
import org.deeplearning4j.nn.conf.layers.SelfAttentionLayer;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.LayerKernels;
import org.dl4jamp.onednn.vertex.VertexTwin;
import org.dl4jamp.precision.Precision;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationLReLU;

/** Layers of attention, and the vertex. */
public final class AttentionLayers {
    /** Those that SameDiff has: with others DL4J throws. */
    private static final Set<Activation> RECURRENT_FUNCTIONS = EnumSet.of(
            Activation.CUBE,
            Activation.ELU,
            Activation.GELU,
            Activation.HARDTANH,
            Activation.IDENTITY,
            Activation.LEAKYRELU,
            Activation.RELU,
            Activation.SIGMOID,
            Activation.SOFTMAX,
            Activation.SOFTPLUS,
            Activation.SOFTSIGN,
            Activation.TANH);

    private static final List<LayerKernels<?>> KERNELS = List.of(
            new LayerKernels<>(SelfAttentionLayer.class, SelfAttentionTwin::new, false),
            new LayerKernels<>(LearnedSelfAttentionLayer.class, LearnedSelfAttentionTwin::new, false),
            new LayerKernels<>(
                    RecurrentAttentionLayer.class, AttentionLayers::recurrent, RecurrentAttentionTwin::new, false));

    private AttentionLayers() {}

    private static Optional<String> recurrent(RecurrentAttentionLayer layer, Precision precision) {
        return RECURRENT_FUNCTIONS.contains(layer.getActivation())
                ? LayerKernels.COVERED
                : LayerKernels.because("activation function " + layer.getActivation() + " in recurrent attention");
    }

    /** Returns the function that a recurrent layer computes in SameDiff, where a leaky ReLU has no slope to the left. */
    static IActivation function(RecurrentAttentionLayer layer) {
        return layer.getActivation() == Activation.LEAKYRELU
                ? new ActivationLReLU(0)
                : layer.getActivation().getActivationFunction();
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
