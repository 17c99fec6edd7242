package org.dl4jamp.onednn.weights;

import org.dl4jamp.onednn.memory.AlignedMemory;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.twin.Twin;

/**
 * Memory for the copies that a recurrent layer's primitives read of its weights, those of one shape of input at a time.
 */
public final class RecurrentWeights implements Twin.Weights, AutoCloseable {
    private final AlignedMemory memory = new AlignedMemory();
    private final boolean keeps;
    private Object reader;

    /** @param keeps whether copies count until the parameters change */
    public RecurrentWeights(boolean keeps) {
        this.keeps = keeps;
    }

    /** Enlarges the memory to a size, if it's smaller. */
    public void reserve(long atLeast) {
        reader = null;
        memory.reserve(atLeast);
    }

    public Place place(long offset) {
        return Place.kept(memory.address() + offset);
    }

    /** Returns whether the copies are for one reader, and equal the current parameters. */
    public boolean areFor(Object who) {
        return reader == who;
    }

    /** Sets the reader that they have been made for. */
    public void made(Object who) {
        reader = keeps ? who : null;
    }

    @Override
    public void refresh() {
        reader = null;
    }

    @Override
    public void close() {
        reader = null;
        memory.close();
    }
}
