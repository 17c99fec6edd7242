package org.dl4jamp.scale;

/**
 * Decides by how much the loss is multiplied before the backward pass, from what became of the steps before.
 *
 * <p>One step of training reads {@link #scale()} once, computes the gradients of the scaled loss, divides them by the
 * same scale, looks whether all of them are finite, and says so with {@link #update(boolean)}:
 *
 * <pre>
 * double s = scaler.scale();
 * gradients = backward(loss * s) / s;
 * boolean overflow = !allFinite(gradients);
 * if (!overflow) step(gradients);
 * scaler.update(overflow);
 * </pre>
 *
 * <p>Scalers know nothing of networks or arrays. They are not thread-safe.
 */
public interface LossScaler {
    /** The factor for the loss of the next step: finite and above zero. */
    double scale();

    /**
     * Tells the scaler what became of a step. It isn't told of steps that were skipped because the loss or the data
     * were not finite: the scale isn't to blame for those.
     *
     * @param overflow whether any gradient of the step was infinite or NaN, in which case the step was skipped
     */
    void update(boolean overflow);

    /** Everything that {@link #restore} needs to go on as if nothing had happened. */
    LossScalerState state();

    /**
     * Takes over a state that a scaler of the same kind returned from {@link #state()}.
     *
     * @throws org.dl4jamp.precision.AmpException if the state is of another kind of scaler or holds values that this
     *     scaler can't have; the scaler is then as it was
     */
    void restore(LossScalerState state);

    /** A scaler with the same settings and the same state that knows nothing of this one. */
    LossScaler copy();
}
