package org.dl4jamp.onednn.vertex;

import java.lang.ref.Reference;
import org.bytedeco.javacpp.Pointer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Handle;
import org.dl4jamp.onednn.memory.Views;
import org.dl4jamp.onednn.memory.Workspaces;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Sequences {@code [minibatch, size, time]} as rows of features, which are contiguous in memory: one row for each
 * example and time step. A matrix {@code [minibatch, size]} has a single time step.
 */
final class TimeSteps {
    private final INDArray array;
    private final long address;
    private final long row;
    private final long betweenExamples;
    private final long betweenSteps;
    private final Handle source = new Handle();
    private final Handle target = new Handle();

    /** @param array such that it {@linkplain #hasRows has rows} */
    TimeSteps(INDArray array) {
        long width = array.dataType().width();
        this.array = array;
        this.address = Workspaces.address(array);
        this.row = array.size(1) * width;
        this.betweenExamples = array.size(0) == 1 ? row : array.stride(0) * width;
        this.betweenSteps = array.rank() == 2 ? 0 : array.stride(2) * width;
    }

    /** Returns whether the features of an example's time step follow each other in memory. */
    static boolean hasRows(INDArray array) {
        return array.size(1) == 1 || array.stride(1) == 1;
    }

    /** Returns whether sequences are in memory time step by time step, as recurrent layers return them. */
    static boolean areStepByStep(INDArray array) {
        return array.rank() == 3 && hasRows(array) && array.stride(0) == array.size(1) && array.size(2) > 1;
    }

    /** Returns new sequences with arbitrary content, in memory time step by time step. */
    static INDArray create(
            LayerWorkspaceMgr workspaceMgr, ArrayType place, DataType type, long minibatch, long size, long steps) {
        return Views.permuted(Workspaces.dense(workspaceMgr, place, type, steps, minibatch, size), 1, 2, 0);
    }

    /** Copies a row. */
    void copy(long example, long step, TimeSteps to, long toStep) {
        copy(at(example, step), to, to.at(example, toStep), row);
    }

    /** Copies the rows of all examples at a time step. */
    void copy(long step, TimeSteps to, long toStep) {
        long examples = array.size(0);
        if (betweenExamples == row && to.betweenExamples == row) {
            copy(at(0, step), to, to.at(0, toStep), examples * row);
        } else {
            for (long example = 0; example < examples; example++) {
                copy(example, step, to, toStep);
            }
        }
    }

    private long at(long example, long step) {
        return address + example * betweenExamples + step * betweenSteps;
    }

    private void copy(long from, TimeSteps to, long toAddress, long bytes) {
        try {
            Pointer.memcpy(target.at(toAddress), source.at(from), bytes);
        } finally {
            Reference.reachabilityFence(array);
            Reference.reachabilityFence(to.array);
        }
    }
}
