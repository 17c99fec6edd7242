package org.dl4jamp.step;

import java.util.Map;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A network's gradients in its own gradient view. DL4J's updater recognizes the view by the object, and takes everything else for the
 * gradients of another network, of which it makes a view for each parameter in every step.
 */
final class OwnGradient extends DefaultGradient {
    private static final long serialVersionUID = 1L;

    private final transient INDArray view;
    private final transient Gradient gradient;

    private OwnGradient(INDArray view, Gradient gradient) {
        super(view);
        this.view = view;
        this.gradient = gradient;
    }

    /**
     * The gradients as the updater of the network recognizes them.
     *
     * @param view the network's gradient view
     * @return {@code gradient} itself if it's over other memory
     */
    static Gradient of(INDArray view, Gradient gradient) {
        return Memory.isSame(view, gradient.gradient()) ? new OwnGradient(view, gradient) : gradient;
    }

    @Override
    public INDArray gradient() {
        return view;
    }

    @Override
    public Map<String, INDArray> gradientForVariable() {
        return gradient.gradientForVariable();
    }
}
