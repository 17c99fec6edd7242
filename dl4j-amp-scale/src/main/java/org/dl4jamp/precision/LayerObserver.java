package org.dl4jamp.precision;

import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Called in training steps with the arrays that go from layer to layer, in the precision that they have there. They are
 * read at once, not kept, and not changed: they are in workspaces. An exception ends the step.
 */
public interface LayerObserver {
    /** Called with the output of a layer in the forward pass of training. */
    void output(String layer, INDArray output);

    /**
     * Called with the gradient of a layer's input in the backward pass of a step, as the layer returns it.
     *
     * @param scale the factor by which it is larger than the sum of the gradients of all examples
     */
    void inputGradient(String layer, INDArray gradient, double scale);

    /**
     * Called in the backward pass of a step with the scale of a layer in HALF that has one of its own, as
     * {@code AmpConfig.layerScales} makes it. By default does nothing.
     *
     * @param scale the power of two by which the layer has multiplied the gradients that it was given
     */
    default void layerScale(String layer, double scale) {}
}
