package org.dl4jamp.layer;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.MaskState;
import org.deeplearning4j.nn.conf.CacheMode;
import org.dl4jamp.twin.Twin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** A layer that sets masks, batch size, iterations and the like of both master and twin. */
abstract class PairedLayer extends DelegatingLayer {
    private static final long serialVersionUID = 1L;

    private final transient Twin twin;
    private transient boolean replaced;

    PairedLayer(Layer master, Twin twin) {
        super(master);
        this.twin = twin;
    }

    /** Returns what computes in this layer's place. */
    public final Twin twin() {
        return twin;
    }

    /** Sets whether another layer stands in this one's place. Call it while no thread is inside the gate. */
    public final void setReplaced(boolean replaced) {
        this.replaced = replaced;
    }

    final boolean isReplaced() {
        return replaced;
    }

    final Layer compute() {
        return twin.compute();
    }

    @Override
    public final Layer computing() {
        return compute();
    }

    @Override
    public void setMaskArray(INDArray maskArray) {
        INDArray own = maskArray;
        // It multiplies the twin's output: the sums and the loss of an output layer, whose weights may be any number,
        // are FP32.
        DataType type = twin.outputType();
        if (maskArray != null
                && maskArray.dataType() != type
                && maskArray.dataType().isFPType()) {
            // DL4J's MaskZeroLayer makes a mask of the type of what it masks, outside workspaces.
            try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
                own = maskArray.castTo(type);
            }
        }
        super.setMaskArray(own);
        if (compute() != master()) {
            compute().setMaskArray(own);
        }
    }

    @Override
    public Pair<INDArray, MaskState> feedForwardMaskArray(
            INDArray maskArray, MaskState currentMaskState, int minibatchSize) {
        if (compute() != master()) {
            compute().feedForwardMaskArray(maskArray, currentMaskState, minibatchSize);
        }
        return super.feedForwardMaskArray(maskArray, currentMaskState, minibatchSize);
    }

    @Override
    public void setInputMiniBatchSize(int size) {
        super.setInputMiniBatchSize(size);
        if (compute() != master()) {
            compute().setInputMiniBatchSize(size);
        }
    }

    @Override
    public void setIterationCount(int iterationCount) {
        super.setIterationCount(iterationCount);
        if (compute() != master()) {
            compute().setIterationCount(iterationCount);
        }
    }

    @Override
    public void setEpochCount(int epochCount) {
        super.setEpochCount(epochCount);
        if (compute() != master()) {
            compute().setEpochCount(epochCount);
        }
    }

    @Override
    public void setCacheMode(CacheMode mode) {
        // What DL4J would cache between forward and backward pass are FP32 arrays: the twin goes without.
        master().setCacheMode(mode);
    }

    @Override
    public void allowInputModification(boolean allow) {
        super.allowInputModification(allow);
        if (compute() != master()) {
            compute().allowInputModification(false);
        }
    }

    @Override
    public void clearNoiseWeightParams() {
        super.clearNoiseWeightParams();
        if (compute() != master()) {
            compute().clearNoiseWeightParams();
        }
    }
}
