package org.dl4jamp.step;

import java.util.ArrayList;
import java.util.List;
import org.dl4jamp.engine.StepKernels;

/** Updates that blocks of an updater put off, while someone waits for all of them. */
final class PostponedUpdates {
    private List<StepKernels.Update> updates;

    /** Whether updates may be put off. */
    boolean isOpen() {
        return updates != null;
    }

    void open() {
        updates = new ArrayList<>();
    }

    void add(StepKernels.Update update) {
        updates.add(update);
    }

    /** Those that were put off. From here on none may be any more. */
    List<StepKernels.Update> close() {
        List<StepKernels.Update> all = updates;
        updates = null;
        return all;
    }
}
