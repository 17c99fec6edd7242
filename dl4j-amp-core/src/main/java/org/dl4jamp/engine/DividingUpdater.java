package org.dl4jamp.engine;

import org.nd4j.linalg.learning.GradientUpdater;
import org.nd4j.linalg.learning.config.IUpdater;

/**
 * An updater that can take the sum of gradients over a minibatch and divide it in the pass that it makes anyway, where DL4J divides in a pass
 * of its own.
 *
 * @param <T> its configuration
 */
public interface DividingUpdater<T extends IUpdater> extends GradientUpdater<T> {
    /**
     * Divides the gradients of the next {@link #applyUpdater}, and of no other.
     *
     * @param examples what they are divided by; positive
     */
    void divideNextBy(int examples);
}
