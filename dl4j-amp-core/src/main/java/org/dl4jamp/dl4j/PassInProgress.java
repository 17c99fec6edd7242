package org.dl4jamp.dl4j;

import java.util.Arrays;
import java.util.Set;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.solvers.BaseOptimizer;
import org.dl4jamp.precision.AmpException;

/**
 * Finds out whether a network calls the running code between its forward pass and the step, as a listener's
 * {@code onForwardPass}. Layers mustn't be replaced then, because the backward pass needs what the forward pass has
 * kept. Between steps they may be, in {@code iterationDone} for example.
 */
public final class PassInProgress {
    private static final Set<Class<?>> NETWORKS = Set.of(MultiLayerNetwork.class, ComputationGraph.class);

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

    private static final Set<String> NAMES =
            Set.of(MultiLayerNetwork.class.getName(), ComputationGraph.class.getName());

    private static final StackWalker STACK = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);

    private PassInProgress() {}

    /**
     * Refuses to go on within a pass of a network.
     *
     * @param call name of the public method, for the message
     * @throws AmpException if it was called by code that the network runs
     */
    public static void refuse(String call, Model network) {
        // The stack shows some network's pass. Its monitor shows that it's this one's: fit and output hold it.
        if (Thread.holdsLock(network) && STACK.walk(frames -> frames.anyMatch(PassInProgress::isPass))) {
            throw new AmpException(
                    call + " was called within a pass of the network, by a listener for example, where layers can't be"
                            + " exchanged; call it between steps, such as in iterationDone or onEpochStart, or when"
                            + " the network has returned");
        }
    }

    /** Returns whether a network calls: the calling thread is within a pass of one. */
    public static boolean isRunning() {
        return STACK.walk(frames -> frames.anyMatch(PassInProgress::isPass));
    }

    /** Returns whether another thread is within a pass of a network. */
    public static boolean isRunning(Thread thread) {
        return Arrays.stream(thread.getStackTrace())
                .anyMatch(frame -> NAMES.contains(frame.getClassName()) && PASSES.contains(frame.getMethodName()));
    }

    private static boolean isPass(StackWalker.StackFrame frame) {
        Class<?> type = frame.getDeclaringClass();
        return (NETWORKS.contains(type) && PASSES.contains(frame.getMethodName()))
                || (type == BaseOptimizer.class && frame.getMethodName().equals("gradientAndScore"));
    }
}
