package org.dl4jamp.inference;

import java.util.Map;
import java.util.WeakHashMap;
import org.dl4jamp.dl4j.NetworkCall;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Tells which passes of a network return nothing but its outputs. To look at the stack for it takes as long as a tiny
 * layer computes. So a group's result is remembered for some turns: a later group that is given the very array is
 * called in the same pass.
 *
 * <p>To be used by one thread at a time.
 */
public final class OutputPasses {
    /** Number of results that are remembered. Between the layers that read a block's result there are a few others. */
    private static final int RESULTS = 4;

    /** A thread's pass that returns nothing but outputs, as far as groups have computed it. */
    private static final class Pass {
        private final INDArray[] results = new INDArray[RESULTS];
        private int turn;

        void add(int ofGroup, INDArray result) {
            System.arraycopy(results, 0, results, 1, RESULTS - 1);
            results[0] = result;
            turn = ofGroup;
        }

        // DL4J gives a layer the very object that the one before has returned.
        @SuppressWarnings("ReferenceEquality")
        boolean hasMade(INDArray given) {
            for (INDArray result : results) {
                if (result == given) {
                    return true;
                }
            }
            return false;
        }
    }

    private final Map<Thread, Pass> passes = new WeakHashMap<>();

    /**
     * Returns the part of a group.
     *
     * @param turn the position of the group's head in the order in which the network computes
     */
    public Part of(int turn) {
        return new Part(turn);
    }

    /** The part of a group in passes. */
    public final class Part {
        private final int turn;

        private Part(int turn) {
            this.turn = turn;
        }

        /** Returns whether the pass in which the group is given an array returns nothing but outputs. */
        boolean isIn(INDArray given) {
            Pass pass = passes.get(Thread.currentThread());
            // Another pass may use the same arrays again, and a program may give an output to any layer. But the last
            // group has had its turn by then, or the pass has failed and the next one begins with an earlier turn.
            if (pass != null && pass.turn < turn && pass.hasMade(given)) {
                return true;
            }
            passes.remove(Thread.currentThread());
            return NetworkCall.asksForOutputsOnly();
        }

        /** Takes note of the group's result in such a pass. */
        void made(INDArray result) {
            passes.computeIfAbsent(Thread.currentThread(), thread -> new Pass()).add(turn, result);
        }
    }
}
