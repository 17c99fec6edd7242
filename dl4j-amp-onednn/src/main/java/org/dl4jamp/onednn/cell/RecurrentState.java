package org.dl4jamp.onednn.cell;

import java.util.Map;
import org.deeplearning4j.nn.layers.recurrent.LSTM;
import org.dl4jamp.dl4j.SharedState;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The FP32 state of a recurrent layer between two sequences.
 *
 * @param output h, {@code [minibatch, units]}; null for zeros
 * @param memory c of an LSTM, {@code [minibatch, units]}; null for zeros
 * @param rounded h in the layer's type; null if that is FP32, or if h hasn't been rounded
 */
public record RecurrentState(INDArray output, INDArray memory, INDArray rounded) {
    public static final RecurrentState ZERO = new RecurrentState(null, null);

    public RecurrentState(INDArray output, INDArray memory) {
        this(output, memory, null);
    }

    /** Returns the state in one of the maps of DL4J's layers, for a time step to begin with. */
    public static RecurrentState in(Map<String, INDArray> state) {
        return new RecurrentState(
                SharedState.forTimeStep(state, LSTM.STATE_KEY_PREV_ACTIVATION),
                SharedState.forTimeStep(state, LSTM.STATE_KEY_PREV_MEMCELL));
    }

    public void putInto(Map<String, INDArray> state) {
        state.put(LSTM.STATE_KEY_PREV_ACTIVATION, output);
        if (memory != null) {
            state.put(LSTM.STATE_KEY_PREV_MEMCELL, memory);
        }
    }

    /** Returns whether its FP32 arrays are the very same. */
    public boolean isSameAs(RecurrentState other) {
        return output == other.output && memory == other.memory;
    }

    /** Returns whether its FP32 arrays have the shapes of another's. */
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
