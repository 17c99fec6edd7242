package org.dl4jamp.twin;

/**
 * What stands before and after a layer or vertex in its network.
 *
 * @param inputGradient who takes the gradient of the input in a training step
 * @param inputShared whether others take the same input, so that DL4J adds up the gradients that they hand back
 * @param inputFused whether what makes the input is computed in one pass with what stands before it and has no other consumer, so that it may
 *     want to hand the gradient on as it is
 * @param foreignProducer whether what makes the input isn't the engine's: DL4J's own code is slow on any order in memory but its own
 * @param foreignConsumer whether any that take the output aren't the engine's
 */
public record Surroundings(
        InputGradient inputGradient,
        boolean inputShared,
        boolean inputFused,
        boolean foreignProducer,
        boolean foreignConsumer) {
    /** Only layers of the same engine, in a chain. */
    public static final Surroundings CHAIN = new Surroundings(InputGradient.READ, false, false, false, false);

    /** Who takes the gradient of a layer's input in a training step. */
    public enum InputGradient {
        /** A layer or vertex with parameters depends on it. */
        READ,
        /** It's handed on as far as the network's input, and no parameter depends on it. */
        HANDED_ON,
        /** DL4J drops it: the layer's only input is one of the network's, which nothing else takes or changes. */
        DROPPED
    }
}
