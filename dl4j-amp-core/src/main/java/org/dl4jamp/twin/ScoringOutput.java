package org.dl4jamp.twin;

import org.deeplearning4j.nn.api.layers.IOutputLayer;

/**
 * An output layer that evaluates the loss along with its gradient, so that a training step needn't multiply by the
 * layer's weights once more for the score.
 */
public interface ScoringOutput extends IOutputLayer {
    /**
     * Returns the score of the last backward pass, with the network's regularization term: what {@link #computeScore}
     * returns in training for the same input, labels, mask and parameters.
     */
    double scoreOfBackwardPass(double fullNetworkRegScore);
}
