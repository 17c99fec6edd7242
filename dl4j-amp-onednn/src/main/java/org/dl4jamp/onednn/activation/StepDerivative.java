package org.dl4jamp.onednn.activation;

import org.dl4jamp.onednn.memory.Slab;

/** The derivative of a function, applied to the gradients of one time step after the other. */
public interface StepDerivative {
    /**
     * Multiplies by the derivative, in place.
     *
     * @param gradient that of the values at a time step, FLOAT {@code [minibatch, units]}
     */
    void multiply(long time, Slab gradient);
}
