package org.dl4jamp.onednn.cell;

import java.util.Map;
import org.deeplearning4j.nn.layers.recurrent.LSTM;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The FP32 state of a recurrent layer between two sequences.
 *
 * @param output h, {@code [minibatch, units]}; null for zeros
 * @param memory c of an LSTM, {@code [minibatch, units]}; null for zeros
 */
public record RecurrentState(INDArray output, INDArray memory) {
    public static final RecurrentState ZERO = new RecurrentState(null, null);

    /** Returns the state in one of the maps of DL4J's layers. */
    public static RecurrentState in(Map<String, INDArray> state) {
        return new RecurrentState(state.get(LSTM.STATE_KEY_PREV_ACTIVATION), state.get(LSTM.STATE_KEY_PREV_MEMCELL));
    }

    public void putInto(Map<String, INDArray> state) {
        state.put(LSTM.STATE_KEY_PREV_ACTIVATION, output);
        if (memory != null) {
            state.put(LSTM.STATE_KEY_PREV_MEMCELL, memory);
        }
    }

    /** Returns whether it's made of the very same arrays. */
    public boolean isSameAs(RecurrentState other) {
        return output == other.output && memory == other.memory;
    }

    /** Returns whether it's made of arrays that have the shapes of another's. */
    public boolean hasShapesOf(RecurrentState other) {
        return output != null && haveOneShape(output, other.output) && haveOneShape(memory, other.memory);
    }

    private static boolean haveOneShape(INDArray one, INDArray other) {
        return one == null ? other == null : other != null && one.equalShapes(other);
    }

    public boolean isZero() {
        return output == null && memory == null;
    }
}
