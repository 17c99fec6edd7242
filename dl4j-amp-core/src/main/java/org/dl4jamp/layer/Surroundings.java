package org.dl4jamp.layer;

/**
 * What stands before and after a layer or vertex in its network.
 *
 * @param firstInNetwork whether its only input is one of the network's, which nothing else takes or changes
 * @param inputShared whether others take the same input, so that DL4J adds up the gradients that they hand back
 * @param foreignProducer whether what makes the input isn't the engine's: DL4J's own code is slow on any order in memory but its own
 * @param foreignConsumer whether any that take the output aren't the engine's
 */
public record Surroundings(
        boolean firstInNetwork, boolean inputShared, boolean foreignProducer, boolean foreignConsumer) {
    /** Only layers of the same engine, in a chain. */
    public static final Surroundings CHAIN = new Surroundings(false, false, false, false);
}
