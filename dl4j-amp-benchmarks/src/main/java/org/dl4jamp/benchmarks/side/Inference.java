package org.dl4jamp.benchmarks.side;

/** A network of one side in inference mode, ready for its first pass. */
public interface Inference extends Workload {
    /** Runs one pass over the batch. */
    void pass();

    /**
     * Runs one more pass and returns its output, in the order of
     * {@link org.dl4jamp.benchmarks.blueprint.Blueprint#OUTPUT}.
     */
    float[] outputs();
}
