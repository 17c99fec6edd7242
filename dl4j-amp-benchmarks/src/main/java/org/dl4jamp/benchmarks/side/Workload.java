package org.dl4jamp.benchmarks.side;

import java.util.Optional;
import java.util.OptionalLong;

/** What a side is measured at, made ready. */
public interface Workload extends AutoCloseable {
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
