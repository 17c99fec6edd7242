package org.dl4jamp.inference;

import org.dl4jamp.layer.LossScalingLayer;
import org.dl4jamp.layer.StepGuard;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.twin.Gate;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Lets wrappers infer, and refuses to train: the weights that twins compute with are those of before.
 *
 * @param owner the inference mode that this belongs to
 */
public record InferenceGuard(Object owner, Gate gate) implements StepGuard {
    @Override
    public void trains() {
        throw new AmpException(
                "The network is in inference mode, in which it can't be trained: parameters, updater and iteration"
                        + " are as they were."
                        + " Call close() on its InferenceMode first, which InferenceMode.of(network) finds; for"
                        + " training in mixed precision then call MixedPrecision.enable(network)");
    }

    @Override
    public void backwardBegins(LossScalingLayer output, INDArray labels) {
        trains();
    }

    @Override
    public boolean infersOnly() {
        return true;
    }

    @Override
    public boolean skippedLastStep() {
        return false;
    }
}
