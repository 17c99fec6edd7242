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

    /** Makes sure that there is enough. */
    public void reserve(long atLeast) {
        reader = null;
        memory.reserve(atLeast);
    }

    /** Some of it. */
    public Place place(long offset) {
        return Place.kept(memory.address() + offset);
    }

    /** Returns whether what is there is for one reader, and of the parameters of now. */
    public boolean areFor(Object who) {
        return reader == who;
    }

    /** Hears for whom they have been made. */
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
