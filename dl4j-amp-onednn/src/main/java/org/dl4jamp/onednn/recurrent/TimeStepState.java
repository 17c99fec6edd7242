package org.dl4jamp.onednn.recurrent;

import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.dl4jamp.dl4j.SharedState;
import org.dl4jamp.onednn.cell.LastState;
import org.dl4jamp.onednn.cell.RecurrentState;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A layer's state between time steps, in the map of DL4J's layer. A time step reads the arrays of the one before, and
 * overwrites those of the one before that. It doesn't if a program has read them, here or in the network's own layer,
 * which has the same map. New arrays in each step would wait for the garbage collector, which runs late for small Java
 * objects.
 */
final class TimeStepState implements LastState {
    private final Supplier<Map<String, INDArray>> map;
    /** The state in the map, unless a program has read it; otherwise zero. */
    private RecurrentState unseen = RecurrentState.ZERO;

    /** A state of before, which no program has read; zero if there is none. */
    private RecurrentState spare = RecurrentState.ZERO;

    /** @param map returns the layer's map, which other code may change or replace */
    TimeStepState(Supplier<Map<String, INDArray>> map) {
        this.map = map;
    }

    @Override
    public void take(RecurrentState last) {
        noteReading();
        last.putInto(map.get());
        spare = unseen;
        unseen = last;
    }

    @Override
    public Optional<RecurrentState> room() {
        noteReading();
        // The state in the map has the shape of the time step.
        return spare.hasShapesOf(unseen) && RecurrentState.in(map.get()).isSameAs(unseen)
                ? Optional.of(spare)
                : Optional.empty();
    }

    @Override
    public RecurrentState withRounded(RecurrentState before) {
        noteReading();
        return before.isSameAs(unseen) ? unseen : before;
    }

    /** Takes note of whether a program has read the arrays in the map, which it may keep. */
    private void noteReading() {
        if (SharedState.wasRead(map.get())) {
            unseen = RecurrentState.ZERO;
        }
    }
}
