package org.dl4jamp.engine.nd4j;

import org.dl4jamp.twin.Twin;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** The master weights rounded to half precision, and the rounded ones in FP32 for a twin that computes in it. */
final class RoundedWeights implements Twin.Weights {
    private final INDArray master;
    private final INDArray rounded;
    private final INDArray scratch;
    private final boolean keepsMaster;

    /**
     * @param master the layer's FP32 parameters
     * @param precision HALF or BFLOAT16
     * @param scratch receives the rounded weights in FP32; null if they aren't used in FP32. Other layers may use it,
     *     too
     * @param keepsMaster whether the FP32 parameters keep their digits
     */
    RoundedWeights(INDArray master, DataType precision, INDArray scratch, boolean keepsMaster) {
        this.master = master;
        this.scratch = scratch;
        this.keepsMaster = keepsMaster;
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            this.rounded = Nd4j.createUninitialized(precision, master.shape());
        }
    }

    INDArray rounded() {
        return rounded;
    }

    @Override
    public void refresh() {
        rounded.assign(master);
        reload();
    }

    @Override
    public void stepDone() {
        if (!keepsMaster) {
            rounded.assign(master);
            master.assign(rounded);
        }
    }

    @Override
    public void reload() {
        if (scratch != null) {
            scratch.assign(rounded);
        }
    }
}
