package org.dl4jamp.benchmarks.side;

/** A training of one side, ready for its first step. */
public interface Training extends Workload {
    /**
     * Runs one step: forward, backward, and, unless the side is without an updater, update.
     *
     * @return the mean of the loss's terms, before the update
     */
    double step();
}
