package org.dl4jamp.policy;

import java.util.Optional;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.precision.Precision;

/** The abilities of a compute engine, as the planner needs them. */
public interface EngineAbility {
    /** Returns the engine's name, as it appears in the plan. */
    String name();

    /**
     * Returns the reason for which the engine can't compute a layer in a precision; empty if it can.
     *
     * <p>The planner counts on an engine to evaluate the activation function of a dense, convolutional or recurrent
     * layer in FP32, forward and backward. ND4J's softplus, swish, GELU, Mish, cube and rational tanh overflow in HALF:
     * an engine that would evaluate them there has to return a reason.
     */
    Optional<String> cannot(Layer layer, Precision precision);

    /**
     * Returns whether the engine computes FP32, too, faster than DL4J. It's then used for FP32 in the settings, beside
     * half layers, and where {@link Precision#AUTO} finds nothing that computes half precision fast. If so,
     * {@link #cannot} and {@link #how} are called with {@link Precision#FLOAT}, too.
     */
    default boolean computesFloat() {
        return false;
    }

    /**
     * Returns whether the engine computes a vertex without a layer in a precision. Otherwise DL4J does, in whatever
     * type its inputs have, or in FP32 if it has parameters.
     */
    default boolean computes(GraphVertex vertex, Precision precision) {
        return false;
    }

    /**
     * Returns whether the engine computes, in training, a layer in one pass with the layer or vertex before it, whose
     * only consumer it is. Both are the engine's.
     */
    default boolean fuses(NetworkGraph.Node first, Layer then) {
        return false;
    }

    /**
     * Returns whether the engine adds, in inference, another array to the products of a layer that it computes, before
     * it applies the layer's activation function, in one pass.
     */
    default boolean sums(Layer layer) {
        return false;
    }

    /**
     * Returns whether the engine divides an output layer as PyTorch's autocast does. It multiplies in half precision,
     * and gives the loss the FP32 sums of these products, neither rounded nor cast. Output layers that can't be divided
     * so stay FP32 as a whole.
     *
     * @param output an output layer with weights, which the engine can compute in the precision
     */
    default boolean keepsLossInFloat(Layer output, Precision precision) {
        return false;
    }

    /**
     * Returns how the engine computes a layer that it can, for the plan's last column, such as {@code products in
     * FP32}.
     */
    String how(Layer layer, Precision precision);
}
