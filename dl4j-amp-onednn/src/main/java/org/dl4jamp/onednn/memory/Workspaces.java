package org.dl4jamp.onednn.memory;

import java.lang.ref.Reference;
import java.util.Arrays;
import org.bytedeco.javacpp.Pointer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.INDArrayIndex;
import org.nd4j.linalg.indexing.NDArrayIndex;

/** ND4J arrays in oneDNN's layouts, in DL4J's workspaces. */
public final class Workspaces {
    private Workspaces() {}

    /** Returns the address of an array's first number. It's valid as long as the array is reachable. */
    public static long address(INDArray array) {
        return array.data().pointer().address()
                + array.offset() * array.dataType().width();
    }

    /** Returns a new array with arbitrary content, in ND4J's order {@code c}. */
    public static INDArray dense(LayerWorkspaceMgr workspaceMgr, ArrayType place, DataType type, long... shape) {
        return in(workspaceMgr, place, Layout.dense(type, shape));
    }

    /** Returns a new array with arbitrary content, ordinary shape, and the channels (axis 1) contiguous in memory. */
    public static INDArray channelsLast(LayerWorkspaceMgr workspaceMgr, ArrayType place, DataType type, long... shape) {
        return in(workspaceMgr, place, Layout.channelsLast(type, shape));
    }

    static INDArray in(LayerWorkspaceMgr workspaceMgr, ArrayType place, Layout layout) {
        LayerWorkspaceMgr allocator =
                workspaceMgr.hasConfiguration(place) ? workspaceMgr : LayerWorkspaceMgr.noWorkspaces();
        try (MemoryWorkspace borrowed = allocator.notifyScopeBorrowed(place)) {
            return ArrayShapes.array(Nd4j.createBuffer(layout.type(), layout.length(), false), layout);
        }
    }

    /** Returns a new array with arbitrary content, in a workspace that need not be open. */
    static INDArray in(MemoryWorkspace workspace, Layout layout) {
        return ArrayShapes.array(
                Nd4j.getDataBufferFactory().create(layout.type(), layout.length(), false, workspace), layout);
    }

    /**
     * Returns a new array with arbitrary content, of shape and type of another, and in its order, {@code c} or
     * channels-last.
     */
    public static INDArray like(INDArray model, LayerWorkspaceMgr workspaceMgr, ArrayType place) {
        DataType type = model.dataType();
        return Layout.dense(type, model.shape()).isThatOf(model)
                ? dense(workspaceMgr, place, type, model.shape())
                : channelsLast(workspaceMgr, place, type, model.shape());
    }

    /** Fills an array that is contiguous in memory with zeros. */
    public static void clear(INDArray array) {
        try {
            Pointer.memset(
                    new Handle().at(address(array)),
                    0,
                    array.length() * array.dataType().width());
        } finally {
            Reference.reachabilityFence(array);
        }
    }

    /**
     * Returns the same numbers as {@link #channelsLast} made them, with the channels as last axis: contiguous in ND4J's
     * sense.
     */
    public static INDArray contiguous(INDArray channelsLast) {
        int rank = channelsLast.rank();
        return rank < 3 ? channelsLast : channelsLast.permute(Layout.axesOfChannelsLast(rank));
    }

    /** Returns a view of a range of an array along one of its axes. */
    public static INDArray range(INDArray array, int axis, long start, long length) {
        INDArrayIndex[] indices = new INDArrayIndex[array.rank()];
        Arrays.fill(indices, NDArrayIndex.all());
        indices[axis] = NDArrayIndex.interval(start, start + length);
        return array.get(indices);
    }

    /** Reverses {@link #contiguous}: returns a view with the last axis of an array as its second. */
    static INDArray lastAxisSecond(INDArray array) {
        int rank = array.rank();
        if (rank < 3) {
            return array;
        }
        int[] axes = new int[rank];
        Arrays.setAll(axes, axis -> axis == 0 ? 0 : axis == 1 ? rank - 1 : axis - 1);
        return array.permute(axes);
    }

    /** Returns sizes of an array's axes behind the second: height and width of images. */
    public static long[] extents(INDArray array) {
        return Arrays.copyOfRange(array.shape(), 2, array.rank());
    }

    /** Returns a shape of images, sequences or volumes. */
    public static long[] shape(long minibatch, long channels, long... extents) {
        long[] shape = new long[2 + extents.length];
        shape[0] = minibatch;
        shape[1] = channels;
        System.arraycopy(extents, 0, shape, 2, extents.length);
        return shape;
    }

    /** Returns whether arrays of one place outlive those of another: DL4J may have one workspace for both. */
    public static boolean isSeparate(LayerWorkspaceMgr workspaceMgr, ArrayType place, ArrayType other) {
        if (workspaceMgr.isScopedOut(place) || !workspaceMgr.hasConfiguration(place)) {
            return true;
        }
        return !workspaceMgr.hasConfiguration(other)
                || !workspaceMgr.getWorkspaceName(place).equals(workspaceMgr.getWorkspaceName(other));
    }

    /** Returns whether a layer's activations stay until its backward pass: those before a cast don't. */
    public static boolean staysUntilBackward(LayerWorkspaceMgr workspaceMgr) {
        return isSeparate(workspaceMgr, ArrayType.ACTIVATIONS, ArrayType.FF_WORKING_MEM);
    }
}
