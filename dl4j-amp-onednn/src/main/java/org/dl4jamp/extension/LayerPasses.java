package org.dl4jamp.extension;

import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The passes of one layer. Inputs and gradients have the pass's type, and are contiguous in ND4J's order {@code c}.
 * They belong to others: neither write into them nor keep them.
 */
public interface LayerPasses extends AutoCloseable {
    /**
     * Returns the activations, of the pass's type, best in an array of {@link LayerArrays#result}.
     *
     * @param input after dropout
     */
    INDArray forward(INDArray input, LayerArrays arrays);

    /**
     * Writes the gradients of all parameters, as sums over the minibatch, and returns that of the input.
     *
     * @param input that of the last forward pass
     * @param epsilon the gradient of the activations
     * @return the input's gradient, of its shape and of the pass's type
     */
    INDArray backward(INDArray input, INDArray epsilon, LayerArrays arrays);

    /** Frees what it keeps, when mixed precision or inference mode is closed. */
    @Override
    default void close() {
        // Nothing is kept.
    }
}
