package org.dl4jamp.twin;

import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.dl4jamp.dl4j.NetworkCall;
import org.dl4jamp.precision.AmpException;

/**
 * Lets one thread at a time compute in the wrappers of a network, and decides for each pass whether wrappers compute
 * it. DL4J's networks hold their monitor in {@code fit} and {@code output}, but not in {@code evaluate},
 * {@code rnnTimeStep} and {@code score}. So a mode may begin or end while such a pass is between two layers.
 *
 * <p>The first wrapper of a pass decides. If the gate is open then, the wrappers compute the pass to its end, and
 * shutting the gate waits for it. A pass that began before the gate was opened, or begins while it's being shut, is
 * computed by the network's own layers. Its wrappers pass the calls through.
 *
 * <pre>{@code
 * try (Gate.Inside inside = gate.forward(turn, false)) {
 *     return inside.isOwn() ? master.activate(...) : compute(...);
 * }
 * }</pre>
 */
public final class Gate {
    /** The turn of a wrapper that takes part in no pass: it computes whatever it's given itself. */
    public static final int NO_TURN = -1;

    /** Until it's closed, no other thread is inside. */
    public final class Inside implements AutoCloseable {
        private final boolean own;

        private Inside(boolean own) {
            this.own = own;
        }

        /** Returns whether the network's own layer or vertex computes in this pass. */
        public boolean isOwn() {
            return own;
        }

        @Override
        public void close() {
            if (lock.getHoldCount() == 1 && endsPass) {
                endsPass = false;
                passes.remove(Thread.currentThread());
            }
            lock.unlock();
        }
    }

    private final ReentrantLock lock = new ReentrantLock();
    private final Inside own = new Inside(true);
    private final Inside ours = new Inside(false);
    /** Of each thread that is in a pass, or was when the pass failed, whether the network's own layers compute it. */
    private final Map<Thread, Inside> passes = new WeakHashMap<>();

    private Inside current = ours;
    private Consumer<Boolean> observer = wrappers -> {};
    private boolean endsPass;
    private int first = Integer.MAX_VALUE;
    private int last = -1;
    private boolean open;
    private boolean closed;

    /**
     * Takes note of a wrapper.
     *
     * @param turn its position in the order in which the network computes
     * @param skipped whether some passes leave it out, as training leaves out output layers
     */
    public void takePart(int turn, boolean skipped) {
        locked(() -> {
            if (turn != NO_TURN) {
                first = skipped ? first : Math.min(first, turn);
                last = Math.max(last, turn);
            }
        });
    }

    /** Sets what is called when a pass begins, with true if wrappers compute it, while no other thread is inside. */
    public void onPass(Consumer<Boolean> called) {
        locked(() -> observer = called);
    }

    private void locked(Runnable work) {
        lock.lock();
        try {
            work.run();
        } finally {
            lock.unlock();
        }
    }

    /** Enters for anything but a forward pass. Waits for other threads; throws if the gate is closed for good. */
    public Inside enter() {
        lock.lock();
        if (lock.getHoldCount() == 1) {
            if (closed) {
                throw refusal();
            }
            current = ours;
        }
        return current;
    }

    /**
     * Enters to change what a wrapper was given. Unlike {@link #enter} it never refuses; {@link Inside#isOwn} returns
     * whether the network's own layer has to be given it, too.
     */
    public Inside touch() {
        lock.lock();
        return open ? ours : own;
    }

    /**
     * Enters for the turn of a layer or vertex in a forward pass, as {@link #enter}. A closed gate refuses only calls
     * that are no network's.
     *
     * @param givenBefore whether only the network's own layer has an input, given before the wrapper was put in
     */
    public Inside forward(int turn, boolean givenBefore) {
        Inside inside = score(turn, givenBefore);
        endsPass |= turn == last;
        return inside;
    }

    /** Enters to compute a score of the forward pass in progress, see {@link #forward}. */
    public Inside score(int turn, boolean givenBefore) {
        lock.lock();
        if (lock.getHoldCount() == 1) {
            current = computing(turn, givenBefore);
        }
        return current;
    }

    private Inside computing(int turn, boolean givenBefore) {
        if (closed) {
            if (!NetworkCall.isInPass()) {
                throw refusal();
            }
            return own;
        }
        if (turn == NO_TURN) {
            return givenBefore ? own : ours;
        }
        Thread thread = Thread.currentThread();
        if (open && turn <= first && !givenBefore) {
            observer.accept(true);
            passes.put(thread, ours);
            return ours;
        }
        Inside known = passes.get(thread);
        if (known != null && turn > first && !givenBefore) {
            return known;
        }
        if (!NetworkCall.isInPass()) {
            // A program calls the layer itself.
            return ours;
        }
        observer.accept(false);
        passes.put(thread, own);
        return own;
    }

    private AmpException refusal() {
        lock.unlock();
        return new AmpException(
                "The mixed precision that this layer or vertex belongs to is closed: it computes no more."
                        + " Ask the network for its layer again");
    }

    /**
     * Opens the gate, after the wrappers have been put into the network. Runs {@code work} first, while no thread is
     * inside. Throws an {@link AmpException} if the thread itself is inside; see {@link #shut}.
     */
    public void open(String what, Runnable work) {
        refuseInside(what);
        locked(() -> {
            work.run();
            open = true;
        });
    }

    /**
     * Shuts the gate for a while: waits for the passes that wrappers compute, and runs work while no thread is inside.
     *
     * @param what past participle of the change to mixed precision, for the message
     * @param network its monitor is held by the caller, and released while this waits: passes may need it
     * @throws AmpException if the thread itself is inside, or the gate was closed meanwhile; nothing has changed then
     */
    public void shut(String what, Object network, Runnable work) {
        shutThen(what, network, () -> {
            if (closed) {
                throw new AmpException("Mixed precision can't be " + what + ": another thread has closed it meanwhile");
            }
            work.run();
        });
    }

    /**
     * Closes the gate for good, see {@link #shut}. Does nothing if it's closed already.
     *
     * @param demolition run then, before any other thread enters
     */
    public void close(Object network, Runnable demolition) {
        shutThen("closed", network, () -> {
            if (!closed) {
                closed = true;
                demolition.run();
            }
        });
    }

    private void shutThen(String what, Object network, Runnable work) {
        refuseInside(what);
        boolean before = set(false);
        try {
            awaitOthers(network);
            locked(() -> {
                passes.clear();
                work.run();
            });
        } catch (RuntimeException | Error e) {
            set(before);
            throw e;
        }
    }

    private boolean set(boolean next) {
        lock.lock();
        try {
            boolean before = open;
            open = next && !closed;
            return before;
        } finally {
            lock.unlock();
        }
    }

    /** Returns whether this thread is inside. */
    public boolean isInside() {
        return lock.isHeldByCurrentThread();
    }

    private void refuseInside(String what) {
        if (isInside()) {
            throw new AmpException("Mixed precision can't be " + what
                    + " by code that a layer or vertex of the network runs; do it when the network has returned");
        }
    }

    private void awaitOthers(Object network) {
        boolean interrupted = false;
        while (doOthersCompute()) {
            try {
                network.wait(1);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Returns whether wrappers compute another thread's pass. Passes that failed are found by its stack. */
    private boolean doOthersCompute() {
        lock.lock();
        try {
            passes.entrySet().removeIf(pass -> !pass.getKey().isAlive() || !NetworkCall.isInPass(pass.getKey()));
            return passes.entrySet().stream()
                    .anyMatch(pass -> pass.getValue() == ours && pass.getKey() != Thread.currentThread());
        } finally {
            lock.unlock();
        }
    }
}
