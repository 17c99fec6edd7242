package org.dl4jamp.twin;

import java.util.List;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The context of a layer or vertex in its network: its producers, consumers and turn.
 *
 * @param inputGradient the use of the input's gradient in a training step
 * @param inputShared whether the input has other consumers, too, so that DL4J adds up their gradients
 * @param inputFused whether the input's producer is fused with the node before it and has no other consumer, so that it
 *     may pass the gradient through as it is
 * @param foreignProducer whether the input's producer isn't the engine's: DL4J's own code is slow on any order in
 *     memory but its own
 * @param foreignConsumer whether any consumer of the output isn't the engine's
 * @param readInUsualOrder whether such a consumer reads the output itself, rather than its last time step
 * @param outputMayChange whether the output may be written to between forward and backward pass: by a layer that may
 *     change its input, or a program that gets the network's outputs
 * @param check decides which passes are left to DL4J
 * @param turn its position in the order in which the network computes; {@link Gate#NO_TURN} if it takes part in no pass
 */
public record LayerContext(
        InputGradient inputGradient,
        boolean inputShared,
        boolean inputFused,
        boolean foreignProducer,
        boolean foreignConsumer,
        boolean readInUsualOrder,
        boolean outputMayChange,
        PassCheck check,
        int turn) {
    /** Returns the same context for a wrapper that always computes, whether wrappers or layers compute the pass. */
    public LayerContext withoutTurn() {
        return new LayerContext(
                inputGradient,
                inputShared,
                inputFused,
                foreignProducer,
                foreignConsumer,
                readInUsualOrder,
                outputMayChange,
                check,
                Gate.NO_TURN);
    }

    /** The use of the gradient of a layer's input in a training step. */
    public enum InputGradient {
        /** A layer or vertex with parameters depends on it, or a user's dropout is given it. */
        READ,
        /** It's passed through to the network's input, and neither a parameter nor a user's dropout depends on it. */
        HANDED_ON,
        /** DL4J drops it: the layer's only input is one of the network's, which nothing else takes or changes. */
        DROPPED
    }

    /**
     * Decides whether DL4J has to compute a layer or vertex in a pass that isn't a training step's. An engine's kernels
     * may lose NaN, infinite and huge numbers. A maximum with zero makes zero of NaN, and a network would return
     * plausible numbers for meaningless features. All that depends on such features is left to DL4J's own layers and
     * vertices. Only arrays from outside of the engine are checked, once in each pass. A step looks for such features
     * itself.
     */
    public static final class PassCheck {
        /** Looks for numbers that an engine would lose. */
        @FunctionalInterface
        public interface SpecialNumbers {
            /** Returns whether DL4J has to compute what depends on an array. */
            boolean areIn(INDArray input, boolean training);
        }

        private final List<PassCheck> producers;
        private final SpecialNumbers special;
        private final RefusedShapes refused = new RefusedShapes();
        private boolean left;

        /**
         * @param producers of the engine's layers and vertices that make the inputs
         * @param special test of an array from outside of the engine; null if all inputs come from the engine's layers
         *     and vertices
         */
        public PassCheck(List<PassCheck> producers, SpecialNumbers special) {
            this.producers = List.copyOf(producers);
            this.special = special;
        }

        /** Returns the shapes of inputs that are left to DL4J in all passes, a step's included. */
        public RefusedShapes refused() {
            return refused;
        }

        /**
         * Looks at the inputs of a pass, which may be null, after those that make them have done so. Returns whether
         * DL4J is to compute.
         */
        public boolean leavesToDl4j(boolean training, INDArray... inputs) {
            left = isAnyLeft() || (special != null && isAnySpecial(training, inputs));
            return left;
        }

        // Loops: each layer is asked in each pass, and streams take 3 % of a small network's with one example.
        private boolean isAnyLeft() {
            for (PassCheck producer : producers) {
                if (producer.left) {
                    return true;
                }
            }
            return false;
        }

        private boolean isAnySpecial(boolean training, INDArray... inputs) {
            for (INDArray input : inputs) {
                if (input != null && special.areIn(input, training)) {
                    return true;
                }
            }
            return false;
        }
    }
}
