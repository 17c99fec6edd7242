package org.dl4jamp.onednn.weights;

import org.dl4jamp.onednn.memory.AlignedMemory;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.twin.Twin;

/**
 * Memory for a copy of one layer's weights, in the order in memory of its next reader. All shapes of the layer's input
 * share it. Their primitives may need many orders (without AVX-512 six, for a convolution), but each pass makes the
 * copy anew. A copy that is made once, for inference, serves primitives with the same order.
 */
public final class WeightCopy implements Twin.Weights, AutoCloseable {
    private final AlignedMemory bytes = new AlignedMemory();
    private final boolean keeps;
    private Object reader;
    private boolean current;

    /** @param keeps whether only the first pass after a change of parameters makes it */
    public WeightCopy(boolean keeps) {
        this.keeps = keeps;
    }

    /** Enlarges the memory, if it's smaller. The copy may be lost. */
    public void reserve(long atLeast) {
        reader = null;
        bytes.reserve(atLeast);
    }

    Place place() {
        return place(0);
    }

    public Place place(long offset) {
        return Place.kept(bytes.address() + offset);
    }

    void clear() {
        bytes.clear();
    }

    /** Sets the reader in whose order it is. */
    public void takenBy(Object which) {
        reader = which;
        current = keeps;
    }

    /** Returns whether it equals the current parameters, and needn't be made. */
    public boolean isCurrent() {
        return current;
    }

    /** Returns whether it's still in the order of a reader. */
    public boolean isOf(Object which) {
        return reader == which;
    }

    @Override
    public void refresh() {
        current = false;
    }

    @Override
    public void close() {
        reader = null;
        current = false;
        bytes.close();
    }
}
