package org.dl4jamp.onednn.twin;

import org.dl4jamp.onednn.memory.LentGradients;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A ReLU layer that what stands before it computes in the same pass, in training. The layer itself then hands its input
 * on. On the way back what stands before it may apply ReLU's derivative, too: then the layer hands on
 * {@linkplain LentGradients gradients that are lent}. Those in DL4J's workspaces it would have to copy, so to them it
 * applies the derivative itself; that twice does no harm.
 */
public final class FusedRelu {
    /** What takes part in a fusion. */
    public interface Partner {
        void fuse(FusedRelu relu);
    }

    private INDArray made;
    private boolean appliesDerivative;
    private boolean taken;

    /**
     * Tells the layer that ReLU has been applied to an array that it's about to be given.
     *
     * @param derivativeToo whether ReLU's derivative will be, to the gradient that the layer hands on
     */
    public void made(INDArray output, boolean derivativeToo) {
        made = output;
        appliesDerivative = derivativeToo;
    }

    /** Returns whether ReLU has been applied to an array. Asked once. */
    @SuppressWarnings("ReferenceEquality")
    boolean takes(INDArray input) {
        taken = made == input;
        made = null;
        return taken;
    }

    /** Returns whether the layer may hand on the gradient of the last array that it was given. */
    boolean takesDerivative() {
        return taken && appliesDerivative;
    }
}
