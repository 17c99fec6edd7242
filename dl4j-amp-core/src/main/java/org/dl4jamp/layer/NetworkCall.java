package org.dl4jamp.layer;

import java.util.Set;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;

/** Knows when nobody reads the gradient of a network's input. */
final class InputGradients {
    private static final Set<String> NETWORKS =
            Set.of(MultiLayerNetwork.class.getName(), ComputationGraph.class.getName());

    private static final String TRAINING_STEP = "computeGradientAndScore";
    private static final StackWalker STACK = StackWalker.getInstance();

    private InputGradients() {}

    /**
     * Whether the backward pass in progress is that of a training step. There DL4J drops the gradient of the network's input, which it returns from
     * {@code calculateGradients} and {@code backpropGradient}, and only the network's method that runs tells the one from the other: the innermost, because a listener may call any network's.
     */
    static boolean areDropped() {
        return STACK.walk(frames -> frames.dropWhile(frame -> !isNetwork(frame))
                .takeWhile(InputGradients::isNetwork)
                .anyMatch(frame -> frame.getMethodName().equals(TRAINING_STEP)));
    }

    private static boolean isNetwork(StackWalker.StackFrame frame) {
        return NETWORKS.contains(frame.getClassName());
    }
}
