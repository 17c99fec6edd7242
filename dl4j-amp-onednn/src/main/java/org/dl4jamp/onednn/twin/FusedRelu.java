package org.dl4jamp.onednn.twin;

import org.dl4jamp.onednn.memory.LentGradients;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A ReLU layer that is fused into the layer before it in training. The ReLU layer then returns its input. In the
 * backward pass the layer before it may apply ReLU's derivative, too: {@linkplain LentGradients lent gradients} then
 * pass through. Gradients in DL4J's workspaces would have to be copied, so the ReLU layer applies the derivative to
 * these. Applying it twice changes nothing.
 */
public final class FusedRelu {
    /** A layer or vertex that ReLU is fused into. */
    public interface Partner {
        void fuse(FusedRelu relu);
    }

    private INDArray made;
    private boolean appliesDerivative;
    private boolean taken;

    /**
     * Notifies the layer that ReLU has been applied to its next input.
     *
     * @param derivativeToo whether ReLU's derivative will be applied to the gradient that the layer returns
     */
    public void made(INDArray output, boolean derivativeToo) {
        made = output;
        appliesDerivative = derivativeToo;
    }

    /** Returns whether ReLU has been applied to an array; true once at most. */
    @SuppressWarnings("ReferenceEquality")
    boolean takes(INDArray input) {
        taken = made == input;
        made = null;
        return taken;
    }

    /** Returns whether the layer may return the gradient of its last input unchanged. */
    boolean takesDerivative() {
        return taken && appliesDerivative;
    }
}
