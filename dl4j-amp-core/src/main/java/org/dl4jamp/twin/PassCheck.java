package org.dl4jamp.twin;

import java.util.Arrays;
import java.util.List;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Decides whether DL4J has to compute a layer or vertex in a pass that isn't a training step's. An engine's kernels may
 * lose NaN, infinite and huge numbers. A maximum with zero makes zero of NaN, and a network would return plausible
 * numbers for meaningless features. All that depends on such features is left to DL4J's own layers and vertices. Only
 * arrays from outside of the engine are checked, once in each pass. A step looks for such features itself.
 */
public final class PassCheck {
    /** Never leaves a pass to DL4J. */
    public static final PassCheck NONE = new PassCheck(List.of(), null);

    /** Looks for numbers that an engine would lose. */
    @FunctionalInterface
    public interface SpecialNumbers {
        /** Returns whether DL4J has to compute what depends on an array. */
        boolean areIn(INDArray input, boolean training);
    }

    private final List<PassCheck> producers;
    private final SpecialNumbers special;
    private boolean left;

    /**
     * @param producers of the engine's layers and vertices that make the inputs
     * @param special test of an array from outside of the engine; null if all inputs come from the engine's layers and
     *     vertices
     */
    public PassCheck(List<PassCheck> producers, SpecialNumbers special) {
        this.producers = List.copyOf(producers);
        this.special = special;
    }

    /**
     * Looks at the inputs of a pass, which may be null, after those that make them have done so. Returns whether DL4J
     * is to compute.
     */
    public boolean leavesToDl4j(boolean training, INDArray... inputs) {
        left = producers.stream().anyMatch(producer -> producer.left)
                || (special != null
                        && Arrays.stream(inputs).anyMatch(input -> input != null && special.areIn(input, training)));
        return left;
    }
}
