package org.dl4jamp.onednn.recurrent;

import java.lang.ref.Reference;
import org.bytedeco.javacpp.Pointer;
import org.dl4jamp.onednn.memory.Handle;
import org.dl4jamp.onednn.memory.Workspaces;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Sequences in the opposite order of time. */
final class TimeReversal {
    private TimeReversal() {}

    /**
     * Copies sequences, the last time step first.
     *
     * @param from {@code [time, minibatch, size]}, contiguous
     * @param to of the same type and shape
     * @return the copy
     */
    static INDArray reverse(INDArray from, INDArray to) {
        long steps = from.size(0);
        long bytes = from.length() / steps * from.dataType().width();
        Handle source = new Handle();
        Handle target = new Handle();
        try {
            for (long time = 0; time < steps; time++) {
                Pointer.memcpy(
                        target.at(Workspaces.address(to) + (steps - 1 - time) * bytes),
                        source.at(Workspaces.address(from) + time * bytes),
                        bytes);
            }
        } finally {
            Reference.reachabilityFence(from);
            Reference.reachabilityFence(to);
        }
        return to;
    }
}
