package org.dl4jamp.layer;

import java.util.List;
import org.dl4jamp.precision.LayerObserver;
import org.dl4jamp.twin.Gate;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The part of the training step that wrappers read and notify. */
public interface StepGuard {
    /** Called by each output layer when its backward pass begins. Labels may be null. */
    default void backwardBegins(LossScalingLayer output, INDArray labels) {}

    /** Returns whether the parameters were left as they were in the last step. */
    boolean skippedLastStep();

    /**
     * Called by each layer before it computes in training, forward or backward.
     *
     * @throws org.dl4jamp.precision.AmpException if the network isn't to be trained now
     */
    default void trains() {}

    /** Called by each layer before it enters the gate for a backward pass, and before anyone needs the updater. */
    default void backpropagates() {}

    /** Returns those who are notified of the arrays between layers. */
    default List<LayerObserver> layerObservers() {
        return List.of();
    }

    /** Returns whether the network only infers, without memory for gradients. */
    default boolean infersOnly() {
        return false;
    }

    /** Returns what is passed through to compute. */
    Gate gate();
}
