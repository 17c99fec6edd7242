package org.dl4jamp.twin;

import org.deeplearning4j.nn.api.layers.IOutputLayer;

/**
 * An output layer that evaluates the loss along with its gradient, so that a training step needn't multiply by the
 * layer's weights once more for the score.
 */
public interface ScoringOutput extends IOutputLayer {
    /**
     * Returns the score of the last backward pass: what {@link #computeScore} returns in training for the same input,
     * labels, mask and parameters.
     *
     * @param fullNetworkRegScore the network's regularization term, which is added
     */
    double scoreOfBackwardPass(double fullNetworkRegScore);
}
