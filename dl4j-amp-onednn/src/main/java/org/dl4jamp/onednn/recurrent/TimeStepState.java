package org.dl4jamp.onednn.recurrent;

import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A layer's state between time steps, in the map in which DL4J's layers keep it. What a time step left is overwritten
 * by the next one, unless somebody has asked for it: otherwise each would leave as much memory behind that only the
 * garbage collector frees, which sees small objects and doesn't hurry.
 */
final class TimeStepState implements LastState {
    private final Supplier<Map<String, INDArray>> map;
    private RecurrentState unseen = RecurrentState.ZERO;

    /**
     * @param map returns the layer's map, in which others may put other arrays, and in whose place others may put
     *     theirs
     */
    TimeStepState(Supplier<Map<String, INDArray>> map) {
        this.map = map;
    }

    @Override
    public void take(RecurrentState last) {
        last.putInto(map.get());
        unseen = last;
    }

    @Override
    public Optional<RecurrentState> room() {
        return unseen.isZero() || !RecurrentState.in(map.get()).isSameAs(unseen)
                ? Optional.empty()
                : Optional.of(unseen);
    }

    /** Somebody is given the arrays, and may keep them. */
    void seen() {
        unseen = RecurrentState.ZERO;
    }
}
