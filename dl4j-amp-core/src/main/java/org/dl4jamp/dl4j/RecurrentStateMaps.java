package org.dl4jamp.dl4j;

import java.lang.invoke.VarHandle;
import java.util.Map;
import org.deeplearning4j.nn.layers.recurrent.BaseRecurrentLayer;

/** The maps that DL4J's recurrent layers keep their state in, between sequences and between the pieces of one. */
public final class RecurrentStateMaps {
    private static final VarHandle BETWEEN_CALLS = map("stateMap");
    private static final VarHandle BETWEEN_SEGMENTS = map("tBpttStateMap");

    private RecurrentStateMaps() {}

    private static VarHandle map(String name) {
        return HiddenFields.field(BaseRecurrentLayer.class, name, Map.class);
    }

    /**
     * Has a layer keep its state where another one does: what either writes counts for both, even in a call that is in
     * progress.
     */
    public static void share(BaseRecurrentLayer<?> from, BaseRecurrentLayer<?> to) {
        BETWEEN_CALLS.set(to, (Map<?, ?>) BETWEEN_CALLS.get(from));
        BETWEEN_SEGMENTS.set(to, (Map<?, ?>) BETWEEN_SEGMENTS.get(from));
    }

    /** Returns whether two layers keep their state in the same place. */
    public static boolean isShared(BaseRecurrentLayer<?> one, BaseRecurrentLayer<?> other) {
        return BETWEEN_CALLS.get(one) == BETWEEN_CALLS.get(other)
                && BETWEEN_SEGMENTS.get(one) == BETWEEN_SEGMENTS.get(other);
    }
}
