package org.dl4jamp.twin;

import java.util.concurrent.locks.ReentrantLock;
import org.dl4jamp.AmpException;

/**
 * Lets one thread at a time compute in the twins of a network, and none once mixed precision is closed: an engine's memory is freed then. DL4J's
 * networks hold their monitor in {@code fit} and {@code output}, but not in {@code evaluate}, {@code rnnTimeStep} and {@code score}.
 *
 * <pre>{@code
 * try (Gate.Inside inside = gate.enter()) {
 *     ...
 * }
 * }</pre>
 */
public final class Gate {
    /** Until it's closed, the gate stays open. */
    public interface Inside extends AutoCloseable {
        @Override
        void close();
    }

    private final ReentrantLock lock = new ReentrantLock();
    private final Inside inside = lock::unlock;
    private boolean closed;

    /**
     * Waits until no other thread is inside.
     *
     * @throws AmpException if the gate is closed
     */
    public Inside enter() {
        lock.lock();
        if (closed) {
            lock.unlock();
            throw new AmpException(
                    "The mixed precision that this layer or vertex belongs to is closed: it computes no more."
                            + " Ask the network for its layer again");
        }
        return inside;
    }

    /**
     * Closes the gate once nobody is inside.
     *
     * @param demolition what is done then, before anyone else hears of it
     * @throws AmpException if the thread itself is inside, and couldn't go on
     */
    public void close(Runnable demolition) {
        keepOut("closed", () -> {
            closed = true;
            demolition.run();
        });
    }

    /**
     * Does something while nobody is inside.
     *
     * @param what happens to mixed precision by it, for the message
     * @throws AmpException if the thread itself is inside
     */
    public void keepOut(String what, Runnable work) {
        if (lock.isHeldByCurrentThread()) {
            throw new AmpException("Mixed precision can't be " + what
                    + " by code that a layer or vertex of the network runs; do it when the network has returned");
        }
        lock.lock();
        try {
            work.run();
        } finally {
            lock.unlock();
        }
    }
}
