package org.dl4jamp.onednn.primitive;

import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import org.bytedeco.dnnl.engine;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive_attr;
import org.bytedeco.dnnl.primitive_desc;
import org.bytedeco.dnnl.reorder;
import org.bytedeco.dnnl.stream;
import org.bytedeco.javacpp.PointerScope;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.AmpException;
import org.dl4jamp.onednn.array.AlignedMemory;
import org.dl4jamp.onednn.array.Layout;
import org.dl4jamp.onednn.array.LentGradients;
import org.dl4jamp.onednn.array.Workspaces;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** What the twins of one network share: the stream they run in, their scratchpad, and copies between types and orders in memory. */
public final class OneDnnContext implements AutoCloseable {
    private static final int COPIES = 1024;
    private static final int SUMS = 256;

    private static final LongAdder MADE = new LongAdder();

    private record Copy(Layout from, Layout to) {}

    private final stream queue = new stream(OneDnnLibrary.cpu());
    private final KernelCache<Copy, Kernel> copies = new KernelCache<>(COPIES);
    private final KernelCache<Combination.Task, Combination> sums = new KernelCache<>(SUMS);
    private final AlignedMemory scratchpad = new AlignedMemory();
    private final LentGradients lentGradients = new LentGradients();
    private final AlignedMemory staging = new AlignedMemory();
    private boolean closed;
    private final AlignedMemory gradientMemory = new AlignedMemory();

    public static engine cpu() {
        return OneDnnLibrary.cpu();
    }

    stream stream() {
        return queue;
    }

    /** The scratchpad of all kernels. */
    AlignedMemory scratchpad() {
        return scratchpad;
    }

    /** Gradients that a layer hands on untouched. */
    public LentGradients lentGradients() {
        return lentGradients;
    }

    /** What one kernel leaves for the next that runs, such as numbers on their way from one order in memory to another. */
    public AlignedMemory staging() {
        return staging;
    }

    /** The gradient of a layer's weights until it's in the network's order. */
    public AlignedMemory gradientMemory() {
        return gradientMemory;
    }

    /** Attributes of a primitive whose scratchpad is this context's: oneDNN's own belongs to the thread that made the primitive. */
    public static primitive_attr attributes() {
        primitive_attr attributes = new primitive_attr();
        attributes.set_scratchpad_mode(dnnl.scratchpad_mode.user);
        return attributes;
    }

    /**
     * Makes something of oneDNN and frees what it takes on the way.
     *
     * @param what layer, primitive and shapes, for the message if it fails
     * @param work what each of its kernels has to do, unless the maker says otherwise
     */
    public static <T> T make(String what, Work work, Supplier<T> maker) {
        MADE.increment();
        try (PointerScope temporary = new PointerScope()) {
            return work.withItsThreads(maker);
        } catch (AmpException e) {
            throw e;
        } catch (RuntimeException e) {
            throw new AmpException("oneDNN can't make " + what + ": " + e.getMessage(), e);
        }
    }

    /** The same primitive in the first of oneDNN's implementations, which are in the order of their speed, that isn't generated for a shape. */
    public static primitive_desc withoutGeneratedCode(primitive_desc descriptor) {
        while (!descriptor.impl_info_str().getString().matches("(conv:)?(gemm|ref).*")) {
            if (!descriptor.next_impl()) {
                throw new AmpException("oneDNN has no implementation besides "
                        + descriptor.impl_info_str().getString());
            }
        }
        return descriptor;
    }

    /** How often something was made of oneDNN in this process: not once while shapes stay the same. */
    public static long made() {
        return MADE.sum();
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
        copies.get(new Copy(fromLayout, toLayout), () -> copyKernel(fromLayout, toLayout))
                .bind(dnnl.DNNL_ARG_FROM, from)
                .bind(dnnl.DNNL_ARG_TO, to)
                .run();
    }

    private Kernel copyKernel(Layout from, Layout to) {
        String what = "a copy of " + from + " to " + to;
        return make(what, Work.ofNumbers(from.length()), () -> {
            memory.desc source = from.descriptor();
            memory.desc target = to.descriptor();
            return copyKernel(what, source, target)
                    .argument(dnnl.DNNL_ARG_FROM, source)
                    .argument(dnnl.DNNL_ARG_TO, target);
        });
    }

    /** A kernel that copies, still without arguments, to be used within {@link #make}. */
    public Kernel copyKernel(String what, memory.desc from, memory.desc to) {
        return Work.ofNumbers(Math.max(from.get_size(), to.get_size()) / Float.BYTES)
                .withItsThreads(() -> {
                    reorder.primitive_desc description =
                            new reorder.primitive_desc(cpu(), from, cpu(), to, attributes(), false);
                    return new Kernel(this, what, description, new reorder(description));
                });
    }

    /**
     * Adds one array to another, in place. DL4J's graph calls for it outside of layers and vertices.
     *
     * @param sum of the same shape, type and order
     */
    public synchronized void add(INDArray summand, INDArray sum) {
        if (closed) {
            sum.addi(summand);
            return;
        }
        Combination.Task task = new Combination.Task(dnnl.algorithm.binary_add, 2, List.of(), Layout.of(sum));
        sums.get(task, () -> Combination.make(this, "gradients of several consumers", task))
                .run(List.of(sum, summand), sum);
    }

    /**
     * An array of a type in channels-last order.
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
     * An array in ND4J's order {@code c}.
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
     * An array of a type in order {@code c} or channels-last order, whichever it has.
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
     * An array in the type and order of another of its shape.
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
    public synchronized void close() {
        closed = true;
        copies.close();
        sums.close();
        scratchpad.close();
        lentGradients.close();
        staging.close();
        gradientMemory.close();
        queue.deallocate();
    }
}
