package org.dl4jamp.onednn.recurrent;

import java.util.Map;
import java.util.Optional;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A layer's state between time steps, in the map in which DL4J's layers keep it. What a time step left is overwritten by the next one, unless somebody has asked for it: otherwise each
 * would leave as much memory behind that only the garbage collector frees, which sees small objects and doesn't hurry.
 */
final class TimeStepState implements LastState {
    private final Map<String, INDArray> state;
    private RecurrentState unseen = RecurrentState.ZERO;

    /**
     * @param state the layer's map, in which others may put other arrays
     */
    TimeStepState(Map<String, INDArray> state) {
        this.state = state;
    }

    @Override
    public void take(RecurrentState last) {
        last.putInto(state);
        unseen = last;
    }

    @Override
    public Optional<RecurrentState> room() {
        return unseen.isZero() || !RecurrentState.in(state).isSameAs(unseen) ? Optional.empty() : Optional.of(unseen);
    }

    /** Somebody is given the arrays, and may keep them. */
    void seen() {
        unseen = RecurrentState.ZERO;
    }
}
