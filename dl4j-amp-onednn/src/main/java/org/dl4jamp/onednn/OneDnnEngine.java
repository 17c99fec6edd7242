package org.dl4jamp.onednn;

import java.util.Map;
import java.util.Optional;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.engine.ComputeEngine;
import org.dl4jamp.engine.nd4j.Nd4jEngine;
import org.dl4jamp.onednn.attention.AttentionLayers;
import org.dl4jamp.onednn.embedding.EmbeddingLayers;
import org.dl4jamp.onednn.linear.ProductLayers;
import org.dl4jamp.onednn.output.OutputLayers;
import org.dl4jamp.onednn.primitive.Eltwise;
import org.dl4jamp.onednn.primitive.OneDnnLibrary;
import org.dl4jamp.onednn.samediff.SameDiffLayers;
import org.dl4jamp.onednn.user.UserKernels;
import org.dl4jamp.onednn.vertex.VertexCoverage;
import org.dl4jamp.policy.NetworkGraph;
import org.dl4jamp.precision.Precision;
import org.nd4j.linalg.factory.Nd4j;

/**
 * BFLOAT16 and FP32 on CPUs through oneDNN, in place on the buffers of ND4J's CPU backend.
 *
 * <p>{@link Precision#AUTO} is BFLOAT16 where the CPU multiplies it natively, and FLOAT on this engine elsewhere.
 * {@link Precision#FLOAT} with this engine's name runs the same twins in FP32 on any CPU.
 */
public final class OneDnnEngine implements ComputeEngine {
    /** Name of this engine. */
    public static final String NAME = "onednn";

    private UserKernels users;

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Optional<String> unavailable() {
        return Nd4j.getEnvironment().isCPU()
                ? OneDnnLibrary.failure()
                : Optional.of("it works on the buffers of ND4J's CPU backend, and another backend is in use");
    }

    @Override
    public Optional<String> cannot(Precision precision) {
        if (precision == Precision.HALF) {
            return Optional.of("oneDNN multiplies BFLOAT16 and FLOAT on CPUs, not HALF");
        }
        return precision == Precision.BFLOAT16 && OneDnnLibrary.bfloat16() == OneDnnLibrary.Bfloat16.NONE
                ? Optional.of("oneDNN doesn't compute BFLOAT16 on this CPU, which is without AVX-512")
                : Optional.empty();
    }

    @Override
    public Precision automaticPrecision() {
        return multipliesNatively() ? Precision.BFLOAT16 : Precision.FLOAT;
    }

    @Override
    public String automaticReason() {
        return switch (OneDnnLibrary.bfloat16()) {
            case NATIVE -> "this CPU multiplies BFLOAT16 natively";
            case EMULATED ->
                "this CPU has no instructions for products of BFLOAT16. precision(BFLOAT16) would halve the memory of"
                        + " activations, in up to three times FP32's time";
            case NONE -> "this CPU has no instructions for products of BFLOAT16, nor for oneDNN to do without them";
        };
    }

    @Override
    public Map<String, String> facts() {
        return OneDnnLibrary.failure().isPresent() ? Map.of() : OneDnnLibrary.facts();
    }

    private static boolean multipliesNatively() {
        return OneDnnLibrary.bfloat16() == OneDnnLibrary.Bfloat16.NATIVE;
    }

    @Override
    public boolean computesFloat() {
        return true;
    }

    @Override
    public Optional<String> cannot(Layer layer, Precision precision) {
        return Coverage.without(layer, precision, users());
    }

    /** Returns the kernels that users have brought, found once for each planning, as engines are. */
    private synchronized UserKernels users() {
        if (users == null) {
            users = Coverage.users();
        }
        return users;
    }

    @Override
    public boolean computes(GraphVertex vertex, Precision precision) {
        return VertexCoverage.has(vertex) || AttentionLayers.isAttention(vertex);
    }

    @Override
    public boolean fuses(NetworkGraph.Node first, Layer then) {
        boolean isRelu = then.getClass() == ActivationLayer.class
                && Eltwise.of(((ActivationLayer) then).getActivationFn())
                        .filter(Eltwise.RELU::equals)
                        .isPresent();
        boolean producesInOnePass = first.isLayer()
                ? first.layer().getClass() == BatchNormalization.class
                        && Coverage.without(first.layer(), Precision.FLOAT).isEmpty()
                : first.vertex().getClass() == ElementWiseVertex.class;
        return isRelu && producesInOnePass;
    }

    @Override
    public boolean sums(Layer layer) {
        return ProductLayers.sum(layer);
    }

    @Override
    public boolean keepsLossInFloat(Layer output, Precision precision) {
        return OutputLayers.isOutput(output);
    }

    @Override
    public String how(Layer layer, Precision precision) {
        Optional<String> byUser = users().how(layer, precision);
        if (byUser.isPresent()) {
            return byUser.get();
        }
        if (layer instanceof BatchNormalization) {
            return "statistics and parameters in FP32";
        }
        if (EmbeddingLayers.isEmbedding(layer)) {
            return EmbeddingLayers.how(precision);
        }
        if (OutputLayers.isOutput(layer) && precision.isHalf()) {
            return OutputLayers.how(precision);
        }
        if (AttentionLayers.isAttention(layer)) {
            return AttentionLayers.how(precision);
        }
        if (Coverage.isLeftToSameDiff(layer)) {
            return SameDiffLayers.how();
        }
        return precision == Precision.FLOAT
                ? "FP32, through oneDNN"
                : "computes " + precision + " with sums in FP32, rounded once";
    }

    @Override
    public EngineSession session(long largestLayer, boolean masterWeights) {
        return OneDnnSession.ofTraining(new Nd4jEngine().session(largestLayer, masterWeights), masterWeights, users());
    }

    @Override
    public EngineSession inference(long largestLayer) {
        return OneDnnSession.ofInference(new Nd4jEngine().inference(largestLayer), users());
    }
}
