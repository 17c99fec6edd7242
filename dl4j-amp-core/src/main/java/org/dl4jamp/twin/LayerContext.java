package org.dl4jamp.twin;

/**
 * What stands before and after a layer or vertex in its network.
 *
 * @param inputGradient who takes the gradient of the input in a training step
 * @param inputShared whether others take the same input, so that DL4J adds up the gradients that they hand back
 * @param inputFused whether what makes the input is computed in one pass with what stands before it and has no other
 *     consumer, so that it may want to hand the gradient on as it is
 * @param foreignProducer whether what makes the input isn't the engine's: DL4J's own code is slow on any order in
 *     memory but its own
 * @param foreignConsumer whether any that take the output aren't the engine's
 * @param outputMayChange whether somebody may write into the output between forward and backward pass: a layer of a
 *     class that isn't known to leave its input as it is, or the user, who is given the network's outputs
 * @param check tells which passes are left to DL4J
 * @param turn its position in the order in which the network computes; {@link Gate#NO_TURN} if it takes part in no pass
 */
public record LayerContext(
        InputGradient inputGradient,
        boolean inputShared,
        boolean inputFused,
        boolean foreignProducer,
        boolean foreignConsumer,
        boolean outputMayChange,
        PassCheck check,
        int turn) {
    /** Only layers of the same engine, in a chain. */
    public static final LayerContext CHAIN =
            new LayerContext(InputGradient.READ, false, false, false, false, false, PassCheck.NONE, 0);

    /** The same for what always computes, whoever computes the pass. */
    public LayerContext withoutTurn() {
        return new LayerContext(
                inputGradient,
                inputShared,
                inputFused,
                foreignProducer,
                foreignConsumer,
                outputMayChange,
                check,
                Gate.NO_TURN);
    }

    /** Who takes the gradient of a layer's input in a training step. */
    public enum InputGradient {
        /** A layer or vertex with parameters depends on it, or a user's dropout is given it. */
        READ,
        /** It's handed on as far as the network's input, and neither a parameter nor a user's dropout depends on it. */
        HANDED_ON,
        /** DL4J drops it: the layer's only input is one of the network's, which nothing else takes or changes. */
        DROPPED
    }
}
