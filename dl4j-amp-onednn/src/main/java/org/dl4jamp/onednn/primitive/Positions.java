package org.dl4jamp.onednn.primitive;

import java.util.List;
import java.util.Optional;
import org.dl4jamp.onednn.memory.Gather;
import org.dl4jamp.onednn.memory.Layout;

/**
 * Images, sequences or volumes that a kernel reads and writes, their channels last in memory. It computes each position
 * from those under a window.
 *
 * @param steps between two windows, along each axis
 * @param isPointwise whether a window is one position of the input
 * @param selection some of the positions; empty if the kernel does nothing but copy them
 */
public record Positions(
        Layout input, Layout output, List<Long> steps, boolean isPointwise, Optional<Selection> selection) {
    /** Every so many-th position of the output along each axis. */
    public interface Selection {
        /**
         * Returns the kernel that computes these positions alone, without gaps between them, and reads the same copies
         * of weights. A pointwise one reads the positions alone, without gaps. The kernel of all positions closes it.
         *
         * @return empty if oneDNN would read the weights in another order
         */
        Optional<Kernel> kernel(List<Long> every);

        /** Returns what copies these positions. */
        Gather copies(List<Long> every);
    }

    boolean isCopy() {
        return selection.isEmpty();
    }

    /** Returns whether it computes some of its positions alone. A pointwise one with steps reads others already. */
    boolean hasParts() {
        return !isCopy() && !(isPointwise && hasSteps());
    }

    boolean hasSteps() {
        return steps.stream().anyMatch(step -> step > 1);
    }
}
