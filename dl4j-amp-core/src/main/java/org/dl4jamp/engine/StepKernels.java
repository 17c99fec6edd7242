package org.dl4jamp.engine;

import java.util.List;
import java.util.Optional;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.GradientUpdater;

/**
 * What happens to a network's FP32 gradients between backward pass and step, where an engine may be faster than ND4J. Belongs to one network.
 */
public interface StepKernels {
    /** With ND4J's operations, and DL4J's updaters as they are. */
    static StepKernels nd4j() {
        return new Nd4jStepKernels();
    }

    /**
     * Whether all elements are finite.
     *
     * @param gradients FLOAT, of any shape
     */
    boolean allFinite(INDArray gradients);

    /**
     * Whether {@link #applyAll} does all that an {@link Update} by an updater consists of in one pass. For other updaters it would take a pass for each
     * part, so that the division of all gradients, and the subtraction of all updates, are better done at once.
     *
     * @param updater DL4J's updater of some of the parameters; null for parameters without
     */
    default boolean isOnePass(GradientUpdater<?> updater) {
        return false;
    }

    /**
     * What becomes of some gradients in a step: they're divided, an updater of DL4J's makes updates of them, in their place, and these are subtracted
     * from parameters.
     *
     * @param updater with its state, which changes
     * @param gradients FLOAT, without gaps, in the shape that the updater takes: one axis, or one row in older releases of DL4J
     * @param divisor what the gradients are divided by before the updater sees them, such as the size of the minibatch; 1 if they're means
     * @param parameters FLOAT, as many as there are gradients; empty if somebody else subtracts the updates
     * @param iteration how many updates there were before
     * @param epoch how many epochs there were before
     */
    record Update(
            GradientUpdater<?> updater,
            INDArray gradients,
            float divisor,
            Optional<INDArray> parameters,
            int iteration,
            int epoch) {
        /** Does it with ND4J's operations. */
        public void apply() {
            if (divisor != 1) {
                gradients.divi(divisor);
            }
            updater.applyUpdater(gradients, iteration, epoch);
            parameters.ifPresent(these -> these.subi(gradients.reshape(these.shape())));
        }
    }

    /**
     * Applies updates, in any order or all at once.
     *
     * @param updates of different parameters
     */
    default void applyAll(List<Update> updates) {
        updates.forEach(Update::apply);
    }
}
