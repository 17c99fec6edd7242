package org.dl4jamp.benchmarks.side;

import java.util.Optional;
import java.util.OptionalLong;

/** A training of one side, ready for its first step. */
public interface Training extends AutoCloseable {
    /**
     * One step: forward, backward, and, unless the side is without an updater, update.
     *
     * @return the mean of the loss's terms, before the update
     */
    double step();

    /** The bytes that the framework holds for activations, after some steps; empty where it doesn't say. */
    default OptionalLong activationBytes() {
        return OptionalLong.empty();
    }

    /** Precision and engine where those are the framework's own choice, empty where they were given. */
    default Optional<String> chosen() {
        return Optional.empty();
    }

    @Override
    void close();
}
