package org.dl4jamp.dl4j;

import java.util.Set;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.solvers.BaseOptimizer;

/**
 * Knows what a network was asked for whose backward pass is in progress: DL4J's layers aren't told, and only the
 * methods that run tell the one from the other. Those of the innermost network, because a listener may call any
 * network's.
 */
public final class NetworkCall {
    private static final Set<Class<?>> NETWORKS = Set.of(MultiLayerNetwork.class, ComputationGraph.class);

    /** The loops over layers and vertices. */
    private static final Set<String> FORWARD_PASSES = Set.of(
            "ffToLayerActivationsDetached",
            "ffToLayerActivationsInWS",
            "outputOfLayerDetached",
            "outputOfLayersDetached");

    private static final Set<String> OUTPUTS = Set.of(
            "output", "rnnTimeStep", "rnnTimeStepHelper", "doEvaluationHelper", "scoreHelper", "scoreExamplesHelper");

    /** An argument of that one among a graph's methods named output which is asked for activations of layers. */
    private static final String NAMES_OF_LAYERS = "Ljava/util/List;";

    private static final String LOSS_AND_GRADIENT = "computeGradientAndScore";
    /**
     * The network's frame is among the first ten. Without an estimate frames are fetched eight at a time, and after
     * these thirty-two.
     */
    private static final StackWalker STACK =
            StackWalker.getInstance(Set.of(StackWalker.Option.RETAIN_CLASS_REFERENCE), 12);

    private NetworkCall() {}

    /**
     * Returns whether nobody reads the gradient of the network's input, which it returns from
     * {@code calculateGradients} and {@code backpropGradient}.
     */
    public static boolean dropsInputGradient() {
        return STACK.walk(frames -> frames.dropWhile(frame -> !isNetwork(frame))
                .takeWhile(NetworkCall::isNetwork)
                .anyMatch(frame -> frame.getMethodName().equals(LOSS_AND_GRADIENT)));
    }

    /** Returns whether DL4J's optimizer has called it, which makes a step of the gradients. */
    public static boolean isStep() {
        return STACK.walk(frames -> frames.dropWhile(frame -> !isNetwork(frame))
                .dropWhile(NetworkCall::isNetwork)
                .findFirst()
                .filter(frame -> frame.getDeclaringClass() == BaseOptimizer.class)
                .isPresent());
    }

    /**
     * Returns whether the network's outputs, or a score, are all that is asked for in a forward pass. Any other method
     * hands out activations of single layers, or may do so: a subclass of a network calls the same protected methods.
     */
    public static boolean asksForOutputsOnly() {
        return STACK.walk(frames -> frames.dropWhile(frame -> !isNetwork(frame))
                .dropWhile(frame -> isNetwork(frame) && FORWARD_PASSES.contains(frame.getMethodName()))
                .findFirst()
                .filter(frame -> isNetwork(frame)
                        && OUTPUTS.contains(frame.getMethodName())
                        && !frame.getDescriptor().contains(NAMES_OF_LAYERS))
                .isPresent());
    }

    private static boolean isNetwork(StackWalker.StackFrame frame) {
        return NETWORKS.contains(frame.getDeclaringClass());
    }
}
