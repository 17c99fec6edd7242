package org.dl4jamp.onednn.primitive;

import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.reorder;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.memory.Workspaces;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** A network's copies between types and orders in memory: their kernels are made once for each pair of layouts. */
public final class Copies implements AutoCloseable {
    private static final int MOST = 1024;

    private record Task(Layout from, Layout to) {}

    private final OneDnnContext context;
    private final KernelCache<Task, Kernel> kernels = new KernelCache<>(MOST);
    private final Set<Task> refused = new HashSet<>();

    Copies(OneDnnContext context) {
        this.context = context;
    }

    /** Copies numbers into an array of the same shape, whatever the types and orders of the two. */
    public void copy(INDArray from, INDArray to) {
        copy(Layout.of(from), from, Layout.of(to), to);
    }

    /** Copies numbers that ND4J may have in an order that oneDNN can't read. */
    public void copyOrAssign(INDArray from, INDArray to) {
        if (Layout.isReadable(from)) {
            copy(from, to);
        } else {
            to.assign(from);
        }
    }

    private void copy(Layout fromLayout, INDArray from, Layout toLayout, INDArray to) {
        Task task = new Task(fromLayout, toLayout);
        Optional<Kernel> kernel = refused.contains(task) ? Optional.empty() : made(task);
        if (kernel.isPresent()) {
            kernel.get().copy(Place.of(from), Place.of(to));
        } else {
            to.assign(from);
        }
    }

    /** Returns the kernel of a copy; empty if oneDNN makes none, so that ND4J has to copy. */
    private Optional<Kernel> made(Task task) {
        try {
            return Optional.of(kernels.get(task, () -> make(task.from(), task.to())));
        } catch (KernelFailure e) {
            refused.add(task);
            return Optional.empty();
        }
    }

    private Kernel make(Layout from, Layout to) {
        String what = "a copy of " + from + " to " + to;
        return OneDnnContext.make(
                what, Work.ofNumbers(from.length()), () -> make(what, from.descriptor(), to.descriptor()));
    }

    /** Makes a kernel that {@linkplain Kernel#copy copies}, within {@link OneDnnContext#make}. */
    public Kernel make(String what, memory.desc from, memory.desc to) {
        return Work.ofNumbers(Math.max(from.get_size(), to.get_size()) / Float.BYTES)
                .withItsThreads(() -> {
                    reorder.primitive_desc description = new reorder.primitive_desc(
                            OneDnnContext.cpu(), from, OneDnnContext.cpu(), to, OneDnnContext.attributes(), false);
                    return new Kernel(context, what, description);
                });
    }

    /**
     * Returns an array of a type in channels-last order.
     *
     * @param working where a copy goes
     * @return the array itself if it's that already
     */
    public INDArray channelsLast(INDArray array, DataType type, LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        if (Layout.channelsLast(type, array.shape()).isThatOf(array)) {
            return array;
        }
        INDArray copy = Workspaces.channelsLast(workspaceMgr, working, type, array.shape());
        copyOrAssign(array, copy);
        return copy;
    }

    /**
     * Returns an array in ND4J's order {@code c}.
     *
     * @param place where a copy goes
     * @return the array itself if it's in that order already, or in one that oneDNN can't read
     */
    public INDArray dense(INDArray array, LayerWorkspaceMgr workspaceMgr, ArrayType place) {
        if (!Layout.isReadable(array)
                || Layout.dense(array.dataType(), array.shape()).isThatOf(array)) {
            return array;
        }
        INDArray copy = Workspaces.dense(workspaceMgr, place, array.dataType(), array.shape());
        copy(array, copy);
        return copy;
    }

    /**
     * Returns an array of a type in order {@code c} or channels-last order, whichever it has.
     *
     * @param working where a copy goes
     * @return the array itself if it's that already
     */
    public INDArray inEitherOrder(INDArray array, DataType type, LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        return Layout.dense(type, array.shape()).isThatOf(array)
                ? array
                : channelsLast(array, type, workspaceMgr, working);
    }

    /**
     * Returns an array in the type and order of another of its shape.
     *
     * @param working where a copy goes
     * @return the array itself if it's that already
     */
    public INDArray inOrderOf(INDArray model, INDArray array, LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        if (Layout.of(model).isThatOf(array)) {
            return array;
        }
        INDArray copy = Workspaces.like(model, workspaceMgr, working);
        copyOrAssign(array, copy);
        return copy;
    }

    @Override
    public void close() {
        kernels.close();
    }
}
