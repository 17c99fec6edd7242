package org.dl4jamp.onednn.recurrent;

import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.dl4jamp.onednn.cell.LastState;
import org.dl4jamp.onednn.cell.RecurrentState;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A layer's state between time steps, in the map of DL4J's layer. A time step overwrites the arrays of the one before,
 * unless a program has read them. New arrays in each step would wait for the garbage collector, which runs late for
 * small Java objects.
 */
final class TimeStepState implements LastState {
    private final Supplier<Map<String, INDArray>> map;
    private RecurrentState unseen = RecurrentState.ZERO;

    /** @param map returns the layer's map, which other code may change or replace */
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

    /** Marks the arrays as read by a program, which may keep them. */
    void seen() {
        unseen = RecurrentState.ZERO;
    }
}
