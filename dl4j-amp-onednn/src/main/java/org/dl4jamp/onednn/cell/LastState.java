package org.dl4jamp.onednn.cell;

import java.util.Optional;

/** The destination of the state after a sequence. */
@FunctionalInterface
public interface LastState {
    /** Takes it, in arrays outside workspaces. */
    void take(RecurrentState last);

    /**
     * Returns FP32 arrays that it may be written into, row by row, other than those of the state before the sequence;
     * empty for new ones.
     */
    default Optional<RecurrentState> room() {
        return Optional.empty();
    }

    /** Returns the state before the sequence, with its rounded numbers if these are known. */
    default RecurrentState withRounded(RecurrentState before) {
        return before;
    }
}
