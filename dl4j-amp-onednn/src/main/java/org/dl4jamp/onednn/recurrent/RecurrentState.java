package org.dl4jamp.onednn.recurrent;

import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * What a recurrent layer hands from one sequence to the next, in FP32.
 *
 * @param output h, {@code [minibatch, units]}; null for zeros
 * @param memory c of an LSTM, {@code [minibatch, units]}; null for zeros
 */
record RecurrentState(INDArray output, INDArray memory) {
    static final RecurrentState ZERO = new RecurrentState(null, null);

    /** Whether it's made of the very same arrays. */
    boolean isSameAs(RecurrentState other) {
        return output == other.output && memory == other.memory;
    }

    boolean isZero() {
        return output == null && memory == null;
    }
}
