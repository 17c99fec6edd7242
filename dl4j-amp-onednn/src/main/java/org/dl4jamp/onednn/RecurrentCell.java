package org.dl4jamp.onednn;

import org.nd4j.linalg.api.ndarray.INDArray;

/** What a recurrent layer computes, for one shape of its input. */
interface RecurrentCell extends AutoCloseable {
    /** What a forward pass leaves. */
    interface Trace {
        /** The outputs: {@code [steps + 1, minibatch, units]}, the state before the first step in front. */
        INDArray outputs();

        /** The state after the last step, which is in the trace's memory. */
        RecurrentState last();
    }

    /**
     * A forward pass.
     *
     * @param x {@code [steps, minibatch, nIn]}
     * @param mask FLOAT {@code [steps, minibatch]}, what outputs and state are multiplied by; null for none
     * @param keeps whether the trace is to hold all that {@link #backward} needs
     * @param working where what is needed meanwhile goes
     * @param lasting where the trace goes
     */
    Trace forward(
            INDArray x,
            RecurrentParameters parameters,
            RecurrentState initial,
            INDArray mask,
            boolean training,
            boolean keeps,
            SequenceMemory working,
            SequenceMemory lasting);

    /**
     * A backward pass.
     *
     * @param trace that kept everything; it's used up
     * @param error the gradient of the outputs, FLOAT {@code [steps, minibatch, units]}; it's used up
     * @param mask as in the forward pass
     * @param firstStep the earliest time step that gradients flow back to
     * @param deltas where the gradients of the sums go: {@code [steps, minibatch, gates * units]}
     * @param memory where what is needed meanwhile goes
     */
    void backward(Trace trace, INDArray error, INDArray mask, long firstStep, INDArray deltas, SequenceMemory memory);

    /** Its products, for what is computed of the deltas. */
    SequenceProducts products();

    @Override
    void close();
}
