package org.dl4jamp.benchmarks.side;

import java.util.Optional;
import java.util.OptionalLong;

/** The prepared work that a side is measured with. */
public interface Workload extends AutoCloseable {
    /** Returns the framework's bytes for activations after some steps; empty if unknown. */
    default OptionalLong activationBytes() {
        return OptionalLong.empty();
    }

    /** Returns precision and engine where those are the framework's own choice, empty where they were given. */
    default Optional<String> chosen() {
        return Optional.empty();
    }

    @Override
    void close();
}
