package org.dl4jamp.onednn.weights;

import org.dl4jamp.onednn.memory.AlignedMemory;
import org.dl4jamp.onednn.memory.Place;

/**
 * Memory for the copies that a recurrent layer's primitives read of its weights, those of one shape of input at a time.
 */
public final class RecurrentWeights implements KeptWeights, AutoCloseable {
    private final AlignedMemory memory = new AlignedMemory();
    private boolean keeps;
    private Object reader;

    /** Enlarges the memory to a size, if it's smaller. */
    public void reserve(long atLeast) {
        reader = null;
        memory.reserve(atLeast);
    }

    /** Returns the place at an offset. */
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
    public void keep() {
        keeps = true;
    }

    @Override
    public void outdate() {
        reader = null;
    }

    @Override
    public void close() {
        outdate();
        memory.close();
    }
}
