package org.dl4jamp.install;

import java.util.ArrayDeque;
import java.util.Deque;
import org.deeplearning4j.nn.api.Model;
import org.dl4jamp.dl4j.NetworkCall;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.step.ScaleUpdates;
import org.dl4jamp.step.TrainingStep;

/**
 * The pauses of a network's mixed precision that aren't over, one within the other, all of one thread. Code that reads
 * or changes them holds the network's monitor.
 */
public final class Pauses {
    private final TrainingStep step;
    private final Model network;
    private final ScaleUpdates scale;
    private final Installation installation;
    private final Deque<Object> open = new ArrayDeque<>();
    private volatile Thread thread;

    Pauses(TrainingStep step, ScaleUpdates scale, Installation installation) {
        this.step = step;
        this.network = step.network();
        this.scale = scale;
        this.installation = installation;
    }

    /** Returns whether a pause is open. */
    public boolean areThereAny() {
        return thread != null && !installation.isRemoved();
    }

    /** Begins a pause, within the one that is open if there is one. Returns what ends it. */
    public Runnable begin() {
        NetworkCall.refuseInPass("MixedPrecision.pause", network);
        synchronized (network) {
            if (installation.isRemoved()) {
                throw new AmpException("pause: this mixed precision is closed, so its network computes in FP32 anyway;"
                        + " leave the pause out, or ask MixedPrecision.of(network) for the one in force");
            }
            requireOwnThread("pause");
            if (open.isEmpty()) {
                step.gate().shut("paused", network, () -> {
                    // Another thread may have been first while this one waited.
                    requireOwnThread("pause");
                    installation.pause();
                    scale.pause(true);
                    thread = Thread.currentThread();
                });
            }
            Object pause = new Object();
            open.push(pause);
            return () -> end(pause);
        }
    }

    @SuppressWarnings("ReferenceEquality")
    private void end(Object pause) {
        NetworkCall.refuseInPass("Pause.close", network);
        synchronized (network) {
            if (installation.isRemoved()) {
                throw new AmpException(
                        "Pause.close: the mixed precision that was paused is closed, and with it its pauses;"
                                + " close a pause before that");
            }
            if (!open.contains(pause)) {
                throw new AmpException(
                        "Pause.close: this pause is closed already; close each once, as try-with-resources does");
            }
            requireOwnThread("Pause.close");
            if (open.peek() != pause) {
                throw new AmpException("Pause.close: of " + open.size()
                        + " pauses, one within the other, this one isn't the last that was begun;"
                        + " close the others before it, as try-with-resources does");
            }
            if (open.size() == 1) {
                step.gate().open("resumed", () -> {
                    installation.resume();
                    scale.pause(false);
                    thread = null;
                });
            }
            open.pop();
        }
    }

    @SuppressWarnings("ReferenceEquality")
    private void requireOwnThread(String call) {
        if (thread != null && thread != Thread.currentThread()) {
            throw new AmpException(call + ": the network is in a pause of thread \"" + thread.getName()
                    + "\", and this is \"" + Thread.currentThread().getName()
                    + "\"; a pause is begun, nested and closed by one thread. Wait until that one has closed it");
        }
    }
}
