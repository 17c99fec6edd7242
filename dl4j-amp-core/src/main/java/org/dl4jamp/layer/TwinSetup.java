package org.dl4jamp.layer;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.layers.IOutputLayer;
import org.dl4jamp.twin.LayerContext;
import org.dl4jamp.twin.Twin;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * All that a {@link TwinLayer} is made of.
 *
 * @param name the layer's name in the plan
 * @param master the network's own layer
 * @param twin computes for it
 * @param rounded the type that inputs are rounded to if the twin needs them rounded
 * @param output the type of the activations that are returned
 * @param context the layer's context in its network
 * @param gradientScale the network's
 * @param guard the network's training step, or inference mode
 */
public record TwinSetup(
        String name,
        Layer master,
        Twin twin,
        DataType rounded,
        DataType output,
        LayerContext context,
        GradientScale gradientScale,
        StepGuard guard) {
    /** Notifies observers of the output of a forward pass. */
    void observeOutput(INDArray output) {
        guard.layerObservers().forEach(observer -> observer.output(name, output));
    }

    /** Notifies observers of the gradient of the input, if it's one of a step and not null. */
    void observeInputGradient(INDArray gradient) {
        if (gradient != null && gradientScale.isStep()) {
            guard.layerObservers().forEach(observer -> observer.inputGradient(name, gradient, gradientScale.factor()));
        }
    }

    /** Notifies observers of the layer's own scale in the backward pass of a step. */
    void observeLayerScale(double scale) {
        if (gradientScale.isStep()) {
            guard.layerObservers().forEach(observer -> observer.layerScale(name, scale));
        }
    }

    /** Makes the wrapper that suits the layer. */
    public TwinLayer wrapper() {
        if (master instanceof IOutputLayer) {
            return new LossScalingLayer(this);
        }
        return RecurrentTwinLayer.isRecurrent(master) ? new RecurrentTwinLayer(this) : new TwinLayer(this);
    }
}
