package org.dl4jamp.dl4j;

import java.util.Set;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.solvers.BaseOptimizer;

/**
 * Tells which network method started the pass in progress, by walking the stack: DL4J's layers get no argument for it.
 * The innermost network counts, because a listener may call any network's methods.
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

    /** An argument of the one among a graph's methods named output that returns activations of layers. */
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
     * Returns whether the gradient of the network's input isn't read: {@code calculateGradients} and
     * {@code backpropGradient} return it.
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
     * Returns whether a forward pass returns only the network's outputs, or a score. Any other method returns
     * activations of single layers, or may do so: a subclass of a network calls the same protected methods.
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
