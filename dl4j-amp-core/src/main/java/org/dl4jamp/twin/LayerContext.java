package org.dl4jamp.twin;

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
    /** Only layers of the same engine, in a chain. */
    public static final LayerContext CHAIN =
            new LayerContext(InputGradient.READ, false, false, false, false, false, false, PassCheck.NONE, 0);

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
}
