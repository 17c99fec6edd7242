package org.dl4jamp.engine;

import java.util.List;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.GradientUpdater;

/**
 * Operations on a network's FP32 gradients between backward pass and step, where an engine may be faster than ND4J.
 * Belongs to one network.
 */
public interface StepKernels {
    /** Returns kernels with ND4J's operations, and DL4J's updaters as they are. */
    static StepKernels nd4j() {
        return new Nd4jStepKernels();
    }

    /** Returns whether all elements of a FLOAT array of any shape are finite. */
    boolean allFinite(INDArray gradients);

    /**
     * Returns the Euclidean norm of the elements of several FLOAT arrays of one axis without gaps, to FP32 precision:
     * finite if, and only if, all elements are.
     */
    double norm2(List<INDArray> gradients);

    /**
     * Moves gradients to sums, and leaves zeros in their place.
     *
     * @param gradients FLOAT, of one axis each, without gaps
     * @param sums as many, of the same lengths
     * @param first whether they take the place of what is there, in place of being added to it
     * @return whether all sums are finite
     */
    default boolean move(List<INDArray> gradients, List<INDArray> sums, boolean first) {
        boolean finite = true;
        for (int i = 0; i < sums.size(); i++) {
            INDArray sum = sums.get(i);
            INDArray moved = first ? sum.assign(gradients.get(i)) : sum.addi(gradients.get(i));
            finite &= allFinite(moved);
            gradients.get(i).assign(0);
        }
        return finite;
    }

    /**
     * Adds sums to gradients.
     *
     * @param sums FLOAT, of one axis each, without gaps
     * @param gradients as many, of the same lengths
     * @return the {@linkplain #norm2 norm} of the gradients
     */
    default double add(List<INDArray> sums, List<INDArray> gradients) {
        for (int i = 0; i < sums.size(); i++) {
            gradients.get(i).addi(sums.get(i));
        }
        return norm2(gradients);
    }

    /**
     * Returns whether {@link #applyAll} does all that an {@link Update} by an updater consists of in one pass. For
     * other updaters it would take a pass for each part, so that the division of all gradients is better done at once.
     *
     * @param updater DL4J's updater of some of the parameters; null for parameters without
     */
    default boolean isOnePass(GradientUpdater<?> updater) {
        return false;
    }

    /**
     * The update of some gradients in a step: they're divided, and DL4J's updater makes updates of them, in place.
     *
     * @param updater with its state, which changes
     * @param gradients FLOAT, without gaps, in the shape that the updater takes: one axis, or one row in older releases
     *     of DL4J
     * @param divisor the divisor of the gradients before the updater, such as the size of the minibatch; 1 if they're
     *     means
     * @param iteration number of updates before
     * @param epoch number of epochs before
     */
    record Update(GradientUpdater<?> updater, INDArray gradients, float divisor, int iteration, int epoch) {
        /** Does it with ND4J's operations. */
        public void apply() {
            if (divisor != 1) {
                gradients.divi(divisor);
            }
            updater.applyUpdater(gradients, iteration, epoch);
        }
    }

    /** Applies updates of different parameters, in any order or all at once. */
    default void applyAll(List<Update> updates) {
        updates.forEach(Update::apply);
    }
}
