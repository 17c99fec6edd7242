package org.dl4jamp.engine;

import java.util.List;
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
     * An updater over the same state, with the same results up to FP32 rounding.
     *
     * @param plain DL4J's updater of some of the parameters; null for parameters without
     * @return {@code plain} itself if the engine has nothing better
     */
    default GradientUpdater<?> updater(GradientUpdater<?> plain) {
        return plain;
    }

    /**
     * One call of {@link GradientUpdater#applyUpdater}.
     *
     * @param gradients of one axis, without gaps
     */
    record Update(GradientUpdater<?> updater, INDArray gradients, int iteration, int epoch) {
        /** Makes updates of the gradients, in place. */
        public void apply() {
            updater.applyUpdater(gradients, iteration, epoch);
        }
    }

    /**
     * Makes updates of gradients, in any order or all at once.
     *
     * @param updates by updaters that {@link #updater} returned, of different parameters
     */
    default void applyAll(List<Update> updates) {
        updates.forEach(Update::apply);
    }
}
