package org.dl4jamp.parallel;

import org.dl4jamp.MixedPrecision;
import org.dl4jamp.checkpoint.AmpState;
import org.dl4jamp.precision.Precision;

/**
 * The state of one replica after all fits of its wrapper.
 *
 * @param replica its index, from 0; replica 0 is the network that the wrapper was built with
 * @param precision the precision of its layers in lower precision
 * @param engine the name of the engine that computes them
 * @param state its settings, loss scaler and counters, and a copy of gradients that wait for more, with
 *     {@code AmpConfig.accumulate}
 */
public record ReplicaState(int replica, Precision precision, String engine, AmpState state) {
    static ReplicaState of(int replica, MixedPrecision amp) {
        return new ReplicaState(replica, amp.precision(), amp.engine(), amp.state());
    }

    /** Returns the factor of the loss in the replica's next step. */
    public double lossScale() {
        return state.scaler().scale();
    }

    /** Returns how many steps have updated the replica's parameters. */
    public long stepsTaken() {
        return state.stepsTaken();
    }

    /** Returns how many steps were skipped because something wasn't finite. */
    public long stepsSkipped() {
        return state.stepsSkipped();
    }

    /** Returns one line, such as {@code replica 1: HALF on nd4j, loss scale 65536.0, 100 steps taken, 2 skipped}. */
    @Override
    public String toString() {
        return "replica " + replica + ": " + precision + " on " + engine + ", loss scale " + lossScale() + ", "
                + stepsTaken() + " steps taken, " + stepsSkipped() + " skipped";
    }
}
