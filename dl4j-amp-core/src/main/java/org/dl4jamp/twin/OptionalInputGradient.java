package org.dl4jamp.twin;

/** A layer that computes in place of a network's own, and can do without the gradient of its input. */
public interface OptionalInputGradient {
    /**
     * Called before each backward pass of a layer whose input depends on no parameters, with true if that pass is to
     * return null for the gradient of the input.
     */
    void spareInputGradient(boolean unwanted);
}
