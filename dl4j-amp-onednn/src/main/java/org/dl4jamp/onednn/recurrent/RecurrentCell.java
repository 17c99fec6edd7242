package org.dl4jamp.onednn.recurrent;

import org.dl4jamp.onednn.memory.Slab;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The arithmetic of a recurrent layer, for one shape of its input. */
interface RecurrentCell extends AutoCloseable {
    /** The trace of a forward pass. */
    interface Trace {
        /** Returns the outputs: {@code [steps + 1, minibatch, units]}, the state before the first step in front. */
        INDArray outputs();

        /** Returns the outputs without the state before: {@code [steps, minibatch, units]}. */
        default INDArray outputsOfSteps() {
            INDArray all = outputs();
            long block = all.size(1) * all.size(2);
            return Slab.of(all)
                    .plus(block)
                    .vector(all.length() - block)
                    .reshape(all.size(0) - 1, all.size(1), all.size(2));
        }

        /** Returns the state after the last step, which is in the trace's memory. */
        RecurrentState last();

        /** Returns whether a backward pass may end after the first time step. */
        default boolean isTruncatable() {
            return true;
        }
    }

    /**
     * Runs a forward pass.
     *
     * @param x {@code [steps, minibatch, nIn]}
     * @param mask FLOAT {@code [steps, minibatch]}, factors of outputs and state; null for none
     * @param keeps whether the trace is to hold all that {@link #backward} needs
     * @param truncates whether the backward pass ends after the first time step for sure
     * @param working memory for intermediate results
     * @param lasting memory for the trace
     */
    Trace forward(
            INDArray x,
            RecurrentParameters parameters,
            RecurrentState initial,
            INDArray mask,
            boolean training,
            boolean keeps,
            boolean truncates,
            SequenceMemory working,
            SequenceMemory lasting);

    /**
     * Runs a backward pass.
     *
     * @param trace that kept everything; it's used up
     * @param error the gradient of the outputs, FLOAT {@code [steps, minibatch, units]}; it's used up
     * @param mask as in the forward pass
     * @param firstStep the earliest time step that gradients flow back to
     * @param deltas where the gradients of the sums go: {@code [steps, minibatch, gates * units]}
     * @param memory memory for intermediate results
     */
    void backward(Trace trace, INDArray error, INDArray mask, long firstStep, INDArray deltas, SequenceMemory memory);

    /**
     * Runs a backward pass over all time steps with all gradients, if the cell has one for this forward pass. It
     * replaces {@link #backward} and the products of the deltas.
     *
     * @param x {@code [steps, minibatch, nIn]}
     * @param error the gradient of the outputs, FLOAT {@code [steps, minibatch, units]}; it's used up
     * @param gradients where the gradients of the parameters go
     * @param inputGradient where that of the input goes, {@code [steps, minibatch, nIn]}; null if unused
     * @param memory memory for intermediate results
     * @return whether it was done
     */
    default boolean backwardAtOnce(
            Trace trace,
            INDArray x,
            RecurrentParameters parameters,
            INDArray error,
            RecurrentParameters gradients,
            INDArray inputGradient,
            SequenceMemory memory) {
        return false;
    }

    /** Returns its products, for computations from the deltas. */
    SequenceProducts products();

    @Override
    void close();
}
