package org.dl4jamp.twin;

import java.util.List;
import java.util.function.Predicate;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Decides whether DL4J has to compute a layer or vertex in a pass that isn't for training. An engine's kernels may lose
 * NaN, infinite and huge numbers. A maximum with zero makes zero of NaN, and a network would return plausible numbers
 * for meaningless features. All that depends on such features is left to DL4J's own layers and vertices. Only arrays
 * from outside of the engine are checked, once in each pass.
 */
public final class PassCheck {
    /** Never leaves a pass to DL4J. */
    public static final PassCheck NONE = new PassCheck(List.of(), null);

    private final List<PassCheck> producers;
    private final Predicate<INDArray> special;
    private boolean left;

    /**
     * @param producers of the engine's layers and vertices that make the inputs
     * @param special whether the engine may lose something of an array; null if all inputs come from the engine's
     *     layers and vertices
     */
    public PassCheck(List<PassCheck> producers, Predicate<INDArray> special) {
        this.producers = List.copyOf(producers);
        this.special = special;
    }

    /**
     * Looks at the inputs of a pass that isn't for training, after those that make them have done so.
     *
     * @param inputs entries may be null
     * @return whether DL4J is to compute
     */
    public boolean leavesToDl4j(INDArray... inputs) {
        left = isLeftByAProducer() || isAnySpecial(inputs);
        return left;
    }

    private boolean isLeftByAProducer() {
        for (PassCheck producer : producers) {
            if (producer.left) {
                return true;
            }
        }
        return false;
    }

    private boolean isAnySpecial(INDArray... inputs) {
        if (special == null) {
            return false;
        }
        for (INDArray input : inputs) {
            if (input != null && special.test(input)) {
                return true;
            }
        }
        return false;
    }
}
