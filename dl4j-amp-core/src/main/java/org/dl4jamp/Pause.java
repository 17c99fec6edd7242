package org.dl4jamp;

/**
 * A while in which a network with mixed precision computes in FP32, see {@link MixedPrecision#pause()}:
 *
 * <pre>
 * try (Pause fp32 = amp.pause()) {
 *     net.evaluate(iterator);
 * }
 * </pre>
 */
public final class Pause implements AutoCloseable {
    private final Pauses pauses;

    Pause(Pauses pauses) {
        this.pauses = pauses;
    }

    /**
     * Ends it: the network is in mixed precision again, unless this pause was begun within another one.
     *
     * @throws AmpException if it's closed already, or the mixed precision is, if one that was begun after it isn't closed yet, if another thread has begun it, or if it's called within a pass
     *     of the network; nothing has changed then
     */
    @Override
    public void close() {
        pauses.end(this);
    }
}
