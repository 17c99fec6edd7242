package org.dl4jamp.layer;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.layers.IOutputLayer;
import org.dl4jamp.twin.LayerContext;
import org.dl4jamp.twin.Twin;
import org.nd4j.linalg.api.buffer.DataType;

/**
 * All that a {@link TwinLayer} is made of.
 *
 * @param master the network's own layer
 * @param twin computes for it
 * @param rounded the type that inputs are rounded to if the twin needs them rounded
 * @param output the type of the activations that are returned
 * @param context the layer's context in its network
 * @param gradientScale the network's
 * @param guard the network's training step, or inference mode
 */
public record TwinSetup(
        Layer master,
        Twin twin,
        DataType rounded,
        DataType output,
        LayerContext context,
        GradientScale gradientScale,
        StepGuard guard) {
    /** Makes the wrapper that suits the layer. */
    public TwinLayer wrapper() {
        if (master instanceof IOutputLayer) {
            return new LossScalingLayer(this);
        }
        return RecurrentTwinLayer.isRecurrent(master) ? new RecurrentTwinLayer(this) : new TwinLayer(this);
    }
}
