package org.dl4jamp.engine;

import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.GradientUpdater;
import org.nd4j.linalg.learning.config.IUpdater;

/**
 * An updater that can do in the pass that it makes anyway what DL4J does in passes of its own: before it the division of summed gradients by the
 * size of the minibatch, after it the subtraction of the updates from the parameters.
 *
 * @param <T> its configuration
 */
public interface OnePassUpdater<T extends IUpdater> extends GradientUpdater<T> {
    /**
     * Divides the gradients of the next {@link #applyUpdater}, and of no other.
     *
     * @param examples what they are divided by; positive
     */
    void divideNextBy(int examples);

    /**
     * Subtracts the updates of the next {@link #applyUpdater}, and of no other, from parameters. The updates take the gradients' place all the same.
     *
     * @param parameters FLOAT, as many as there will be gradients; null to subtract nothing after all
     */
    void subtractNextFrom(INDArray parameters);
}
