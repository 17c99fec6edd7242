package org.dl4jamp.scale;

/**
 * Decides by how much the loss is multiplied before the backward pass, from what became of the steps before.
 *
 * <p>One step of training reads {@link #scale()} once, computes the gradients of the scaled loss, and divides them by
 * the same scale. It checks whether all of them are finite, and calls {@link #update(boolean)} with the result:
 *
 * <pre>
 * double s = scaler.scale();
 * gradients = backward(loss * s) / s;
 * boolean overflow = !allFinite(gradients);
 * if (!overflow) step(gradients);
 * scaler.update(overflow);
 * </pre>
 *
 * <p>Scalers don't depend on networks or arrays. They are not thread-safe.
 */
public interface LossScaler {
    /** Returns the factor for the loss of the next step: finite and above zero. */
    double scale();

    /**
     * Updates the scaler with the result of a step. Not called for steps that were skipped because the loss or the data
     * were not finite: the scale isn't to blame for those.
     *
     * @param overflow whether any gradient of the step was infinite or NaN, in which case the step was skipped
     */
    void update(boolean overflow);

    /** Returns everything that {@link #restore} needs to go on as if nothing had happened. */
    LossScalerState state();

    /**
     * Takes over a state that a scaler of the same kind returned from {@link #state()}.
     *
     * @throws org.dl4jamp.precision.AmpException if the state is of another kind of scaler or holds values that this
     *     scaler can't have; the scaler is then as it was
     */
    void restore(LossScalerState state);

    /** Returns a scaler with the same settings and the same state that is independent of this one. */
    LossScaler copy();
}
