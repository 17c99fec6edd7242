package org.dl4jamp.install;

import org.deeplearning4j.nn.api.Model;
import org.dl4jamp.dl4j.PassInProgress;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.twin.Gate;

/** Removes what was installed in a network, once, after all passes through it have ended. */
public final class Uninstallation {
    private final String call;
    private final Model network;
    private final Gate gate;
    private final Runnable removal;
    private volatile boolean done;

    /**
     * @param call name of the public method, for messages
     * @param gate entered by every pass
     * @param removal run while no thread is inside the gate
     */
    public Uninstallation(String call, Model network, Gate gate, Runnable removal) {
        this.call = call;
        this.network = network;
        this.gate = gate;
        this.removal = removal;
    }

    public boolean isDone() {
        return done;
    }

    /**
     * Does it, unless it's done already.
     *
     * @throws AmpException within a pass of the network; nothing has changed then
     */
    public void run() {
        if (done) {
            return;
        }
        PassInProgress.refuse(call, network);
        // DL4J's networks hold their monitor in fit and output; for other passes the gate waits.
        synchronized (network) {
            if (!done) {
                gate.close(network, () -> {
                    done = true;
                    removal.run();
                });
            }
        }
    }
}
