package org.dl4jamp.engine;

import java.util.Map;
import java.util.Optional;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.policy.EngineAbility;
import org.dl4jamp.policy.FusionGroup;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.twin.Casting;
import org.dl4jamp.twin.Twin;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Computes layers in lower precision. Engines are found with {@link java.util.ServiceLoader}.
 *
 * <p>An engine makes {@linkplain EngineSession#twin twins} of a network's layers; casting at the borders, loss scaling
 * and the training step are the same for all engines. An engine must not assume that an array's data is in host memory.
 *
 * <p>Engines are stateless and may be used by several threads; what {@link #session} returns belongs to one network.
 */
public interface ComputeEngine extends EngineAbility {
    /**
     * Returns the reason for which the engine can't be used in this process, such as a missing library or another
     * backend; empty if it can.
     */
    Optional<String> unavailable();

    /** Returns the reason for which the engine can't compute in a precision at all; empty if it can. */
    Optional<String> cannot(Precision precision);

    /**
     * Returns the precision in which the engine is fastest in this process, which {@link Precision#AUTO} stands for.
     * Where no engine has a half precision to offer, the first that {@linkplain EngineAbility#computesFloat computes
     * FP32} is taken, else the network is left to DL4J.
     */
    Precision automaticPrecision();

    /** Returns the reason for {@link #automaticPrecision()}, for plan and log. */
    String automaticReason();

    /**
     * Returns further facts about the engine in this process, such as the version of its library, for reports; empty if
     * there are none or the engine is {@linkplain #unavailable unavailable}.
     *
     * @return facts by a short name, in the order of their importance
     */
    default Map<String, String> facts() {
        return Map.of();
    }

    /**
     * Begins to serve one network.
     *
     * @param largestLayer the number of parameters of the largest layer that will get a twin
     * @param masterWeights whether parameters keep their FP32 digits; if not, they're rounded to the twin's precision
     *     after each step
     */
    EngineSession session(long largestLayer, boolean masterWeights);

    /**
     * Begins to serve one network in inference mode. Twins run forward only; {@link Twin.Weights#refresh} is called
     * before the first pass and where parameters have changed, not before each pass.
     */
    default EngineSession inference(long largestLayer) {
        return session(largestLayer, true);
    }

    /** An engine's side of one network with mixed precision. */
    interface EngineSession extends AutoCloseable {
        /**
         * Makes a twin of a layer.
         *
         * @throws org.dl4jamp.precision.AmpException naming the layer, if it can't be made although
         *     {@link EngineAbility#cannot} had nothing against it
         */
        Twin twin(TwinRequest request);

        /**
         * Makes the replacement of a vertex that the engine {@linkplain EngineAbility#computes computes}.
         *
         * @throws UnsupportedOperationException if it computes none
         */
        default GraphVertex vertex(VertexRequest request) {
            throw new UnsupportedOperationException("vertex \"" + request.name() + "\" is left to DL4J");
        }

        /**
         * Makes a twin of the layer that computes what a group of layers computes in inference. A sum, if the group has
         * one, comes before the activation function.
         *
         * @param request of the one layer that the group has become, without its sum
         */
        default Twin head(TwinRequest request, FusionGroup group) {
            return twin(request);
        }

        /**
         * Makes a twin of a layer in no group, for inference.
         *
         * @param place index of the buffer where its output may go, see {@link FusionGroup#place}
         */
        default Twin placed(TwinRequest request, int place) {
            return twin(request);
        }

        /**
         * Makes the replacement of the vertex of a group whose head {@linkplain EngineAbility#sums has added its
         * inputs}.
         *
         * @throws UnsupportedOperationException if no head does
         */
        default GraphVertex sum(VertexRequest request, FusionGroup group) {
            throw new UnsupportedOperationException("vertex \"" + request.name() + "\" is left to DL4J");
        }

        /**
         * Returns the output of a member of a group that has nothing left to compute. It is the input, or a copy of one
         * in a workspace that closes with the layer before.
         */
        default INDArray passThrough(INDArray input, LayerWorkspaceMgr workspaceMgr) {
            return workspaceMgr.leverageTo(ArrayType.ACTIVATIONS, input);
        }

        /** Returns what notes passes in inference so that they can be repeated; empty if none can. */
        default Optional<PassRecorder> recorder() {
            return Optional.empty();
        }

        /** Returns how arrays are cast for layers that get no twin from this session. */
        default Casting casting() {
            return Casting.ND4J;
        }

        /**
         * Returns whether the kernels may lose what is special about an array that a pass begins with: NaN, infinities
         * and numbers of which they soon become. DL4J computes such a pass, unless it's for training.
         */
        default boolean losesSpecialNumbers(INDArray input) {
            return false;
        }

        /** Returns what happens to the gradients between backward pass and step. */
        default StepKernels stepKernels() {
            return StepKernels.nd4j();
        }

        /** Frees what the twins share. */
        @Override
        void close();
    }
}
