package org.dl4jamp.onednn.recurrent;

import static org.nd4j.linalg.indexing.NDArrayIndex.all;
import static org.nd4j.linalg.indexing.NDArrayIndex.interval;

import java.util.List;
import org.bytedeco.dnnl.global.dnnl;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.cell.SequenceMemory;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.Combination;
import org.dl4jamp.onednn.primitive.Eltwise;
import org.dl4jamp.onednn.primitive.KernelCache;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The merge of the outputs of a bidirectional layer's two directions, and its gradient. Arrays are {@code [time,
 * minibatch, size]}.
 */
final class DirectionMerge implements AutoCloseable {
    private final Bidirectional.Mode mode;
    private final DataType type;
    private final OneDnnContext context;
    private final KernelCache<Combination.Task, Combination> kernels = new KernelCache<>(2 * KernelCache.SHAPES);
    private INDArray forwardOutputs;
    private INDArray backwardOutputs;

    DirectionMerge(Bidirectional.Mode mode, DataType type, OneDnnContext context) {
        this.mode = mode;
        this.type = type;
        this.context = context;
    }

    /** The gradients of the outputs of the two directions. */
    record Errors(INDArray forwards, INDArray backwards) {}

    private void combine(dnnl.algorithm function, List<Eltwise> after, INDArray one, INDArray other, INDArray result) {
        Combination.Task task = new Combination.Task(function, 2, after, Layout.of(one));
        kernels.get(task, () -> Combination.make(context, "bidirectional layer", task))
                .run(List.of(one, other), result);
    }

    private void average(INDArray one, INDArray other, INDArray mean) {
        combine(dnnl.algorithm.binary_add, List.of(Eltwise.linear(0.5, 0)), one, other, mean);
    }

    private void multiply(INDArray one, INDArray other, INDArray product) {
        combine(dnnl.algorithm.binary_mul, List.of(), one, other, product);
    }

    /**
     * Merges the two among the activations.
     *
     * @param keeps whether to keep what {@link #backward} needs
     */
    INDArray forward(INDArray one, INDArray other, boolean keeps, LayerWorkspaceMgr workspaceMgr) {
        clear();
        long units = one.size(2);
        boolean both = mode == Bidirectional.Mode.CONCAT;
        INDArray merged = Workspaces.dense(
                workspaceMgr, ArrayType.ACTIVATIONS, type, one.size(0), one.size(1), both ? 2 * units : units);
        switch (mode) {
            case ADD -> add(one, other, merged);
            case AVERAGE -> average(one, other, merged);
            case MUL -> {
                multiply(one, other, merged);
                if (keeps) {
                    keep(one, other);
                }
            }
            case CONCAT -> {
                context.copies().copy(one, merged.get(all(), all(), interval(0, units)));
                context.copies().copy(other, merged.get(all(), all(), interval(units, 2 * units)));
            }
        }
        return merged;
    }

    /**
     * Keeps the outputs of the two directions for {@link #backward}. As in DL4J's layer, they're outside workspaces.
     */
    private void keep(INDArray one, INDArray other) {
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            forwardOutputs = one.dup();
            backwardOutputs = other.dup();
        }
    }

    /** Runs the backward pass of a forward pass that has kept what it needs. */
    Errors backward(INDArray error, SequenceMemory memory) {
        return switch (mode) {
            case ADD -> new Errors(error, error);
            case AVERAGE -> {
                INDArray half = memory.create(type, error.shape());
                average(error, memory.zeros(type, error.shape()), half);
                yield new Errors(half, half);
            }
            case MUL -> {
                INDArray one = memory.create(type, error.shape());
                INDArray other = memory.create(type, error.shape());
                multiply(error, backwardOutputs, one);
                multiply(error, forwardOutputs, other);
                yield new Errors(one, other);
            }
            case CONCAT -> {
                long units = error.size(2) / 2;
                yield new Errors(
                        error.get(all(), all(), interval(0, units)),
                        error.get(all(), all(), interval(units, 2 * units)));
            }
        };
    }

    /** Computes the sum of two arrays. */
    void add(INDArray one, INDArray other, INDArray sum) {
        combine(dnnl.algorithm.binary_add, List.of(), one, other, sum);
    }

    void clear() {
        forwardOutputs = null;
        backwardOutputs = null;
    }

    @Override
    public void close() {
        kernels.close();
    }
}
