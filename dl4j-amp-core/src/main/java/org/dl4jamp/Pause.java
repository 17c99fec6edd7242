package org.dl4jamp;

import org.dl4jamp.precision.AmpException;

/** A while in which a network with mixed precision computes in FP32, see {@link MixedPrecision#pause()}. */
public final class Pause implements AutoCloseable {
    private final Runnable end;

    Pause(Runnable end) {
        this.end = end;
    }

    /**
     * Ends it: the network is in mixed precision again, unless this pause was begun within another one.
     *
     * @throws AmpException if it, or the mixed precision, is closed already. Also if a later pause isn't closed yet,
     *     another thread has begun this one, or it's called within a pass of the network. Nothing has changed then
     */
    @Override
    public void close() {
        end.run();
    }
}
