package org.dl4jamp.benchmarks.side;

/** The task that a side repeats. */
public enum Task {
    /** Forward, backward, update. */
    TRAINING,
    /** Forward in inference mode. */
    INFERENCE,
    /**
     * Forward in inference mode, over sequences one time step at a time, each from the state that the one before it
     * left.
     */
    TIME_STEPS;

    /** Returns whether nothing is trained. */
    public boolean isInference() {
        return this != TRAINING;
    }

    /** Returns the name of one repetition. */
    public String unit() {
        return isInference() ? "pass" : "step";
    }
}
