package org.dl4jamp.dl4j;

import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.optimize.solvers.BaseOptimizer;
import org.deeplearning4j.optimize.solvers.StochasticGradientDescent;
import org.dl4jamp.precision.AmpException;

/**
 * Tells which methods of networks and optimizers are in progress, by walking the stack: DL4J's layers and updaters get
 * no argument for it. The innermost network counts, because a listener may call any network's methods.
 */
public final class NetworkCall {
    private static final Set<Class<?>> NETWORKS = Set.of(MultiLayerNetwork.class, ComputationGraph.class);

    /**
     * Methods from the forward pass to the step. Layers mustn't be replaced within them, because the backward pass
     * needs what the forward pass has kept. Between steps they may be, in a listener's {@code iterationDone} for
     * example.
     */
    private static final Set<String> PASSES = Set.of(
            "computeGradientAndScore",
            "calculateGradients",
            "calcBackpropGradients",
            "ffToLayerActivationsDetached",
            "ffToLayerActivationsInWs",
            "ffToLayerActivationsInWS",
            "outputOfLayerDetached",
            "outputOfLayersDetached",
            "activateSelectedLayers",
            "scoreHelper",
            "scoreExamplesHelper");

    /** The loops over layers and vertices. */
    private static final Set<String> FORWARD_PASSES = Set.of(
            "ffToLayerActivationsDetached",
            "ffToLayerActivationsInWS",
            "outputOfLayerDetached",
            "outputOfLayersDetached");

    private static final Set<String> OUTPUTS = Set.of(
            "output", "rnnTimeStep", "rnnTimeStepHelper", "doEvaluationHelper", "scoreHelper", "scoreExamplesHelper");

    /** Those of them that return all outputs. */
    private static final Set<String> RETURNING = Set.of("output", "doEvaluationHelper");

    /** An argument of the one among a graph's methods named output that returns activations of layers. */
    private static final String NAMES_OF_LAYERS = "Ljava/util/List;";

    private static final String LOSS_AND_GRADIENT = "computeGradientAndScore";

    private static final StackWalker STACK = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);

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
        return isCalledByOneOf(OUTPUTS);
    }

    /** Returns whether a forward pass returns all outputs of the network, and nothing else. */
    public static boolean returnsOutputs() {
        return isCalledByOneOf(RETURNING);
    }

    private static boolean isCalledByOneOf(Set<String> methods) {
        return STACK.walk(frames -> frames.dropWhile(frame -> !isNetwork(frame))
                .dropWhile(frame -> isNetwork(frame) && FORWARD_PASSES.contains(frame.getMethodName()))
                .findFirst()
                .filter(frame -> isNetwork(frame)
                        && methods.contains(frame.getMethodName())
                        && !frame.getDescriptor().contains(NAMES_OF_LAYERS))
                .isPresent());
    }

    /**
     * Returns whether the updater that runs was called by the optimizer itself, which has just computed the loss and
     * waits for the updates to subtract them. A listener, for one, may call any updater while an optimizer is at work.
     */
    public static boolean isUpdateOfStep() {
        return STACK.walk(frames -> frames.map(StackWalker.StackFrame::getDeclaringClass)
                .dropWhile(caller -> !BaseMultiLayerUpdater.class.isAssignableFrom(caller))
                .dropWhile(BaseMultiLayerUpdater.class::isAssignableFrom)
                .limit(3)
                .toList()
                .equals(List.of(BaseOptimizer.class, BaseOptimizer.class, StochasticGradientDescent.class)));
    }

    /** Returns whether the calling thread is within a pass of a network, which calls a listener for example. */
    public static boolean isInPass() {
        return STACK.walk(frames -> frames.anyMatch(NetworkCall::isPass));
    }

    /** Returns whether another thread is within a pass of a network. */
    public static boolean isInPass(Thread thread) {
        return Arrays.stream(thread.getStackTrace())
                .anyMatch(frame ->
                        NETWORKS.stream().anyMatch(type -> type.getName().equals(frame.getClassName()))
                                && PASSES.contains(frame.getMethodName()));
    }

    /**
     * Refuses to go on within a pass of a network.
     *
     * @param call name of the public method, for the message
     * @throws AmpException if it was called by code that the network runs
     */
    public static void refuseInPass(String call, Model network) {
        // The stack shows some network's pass. Its monitor shows that it's this one's: fit and output hold it.
        if (Thread.holdsLock(network) && isInPass()) {
            throw new AmpException(
                    call + " was called within a pass of the network, by a listener for example, where layers can't be"
                            + " exchanged; call it between steps, such as in iterationDone or onEpochStart, or when"
                            + " the network has returned");
        }
    }

    private static boolean isPass(StackWalker.StackFrame frame) {
        return isNetwork(frame)
                ? PASSES.contains(frame.getMethodName())
                : frame.getDeclaringClass() == BaseOptimizer.class
                        && frame.getMethodName().equals("gradientAndScore");
    }

    private static boolean isNetwork(StackWalker.StackFrame frame) {
        return NETWORKS.contains(frame.getDeclaringClass());
    }
}
