package org.dl4jamp.benchmarks.side;

import java.io.IOException;
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

    /** Begins or ends recording the kernels of steps. */
    default void recordKernels(boolean isRecorded) {
        throw new UnsupportedOperationException("kernels of " + getClass().getSimpleName() + " can't be recorded");
    }

    /**
     * Returns the recorded kernels of the last steps that were recorded; empty if the process's output tells of them.
     *
     * @param steps how many
     */
    default Optional<Profile> kernels(int steps) throws IOException {
        return Optional.empty();
    }

    @Override
    void close();
}
