package org.dl4jamp.onednn.primitive;

import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import org.bytedeco.dnnl.engine;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.primitive_attr;
import org.bytedeco.dnnl.primitive_desc;
import org.bytedeco.dnnl.stream;
import org.bytedeco.javacpp.PointerScope;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.ActivationMemory;
import org.dl4jamp.onednn.memory.AlignedMemory;
import org.dl4jamp.onednn.memory.LentGradients;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The shared state of one network's twins: the stream that their kernels run in, the memory that kernels use in turn,
 * copies and sums.
 */
public class OneDnnContext implements AutoCloseable {
    private static final LongAdder MADE = new LongAdder();

    private final Tape tape = new Tape(this);
    private final stream queue = new stream(OneDnnLibrary.cpu());
    private final Copies copies = new Copies(this);
    private final Sums sums = new Sums(this);
    private final MatrixProducts products = new MatrixProducts(this);
    private final Parts parts = new Parts(this);
    private final AlignedMemory scratchpad = new AlignedMemory();
    private final ActivationMemory activationMemory = new ActivationMemory();
    private final LentGradients lentGradients = new LentGradients();
    private final AlignedMemory staging = new AlignedMemory();
    private final AlignedMemory gradientMemory = new AlignedMemory();
    private final boolean infers;
    private boolean takesForeignGradients;

    /** Makes that of twins for training. */
    public OneDnnContext() {
        this(false);
    }

    /** @param infers whether the twins are for inference, and copy weights only once */
    public OneDnnContext(boolean infers) {
        this.infers = infers;
    }

    public final boolean infers() {
        return infers;
    }

    public static engine cpu() {
        return OneDnnLibrary.cpu();
    }

    stream stream() {
        return queue;
    }

    /** Declares that DL4J's own code computes some gradients. Its p-norms divide by zero where all numbers are zero. */
    public void takeForeignGradients() {
        takesForeignGradients = true;
    }

    /** Returns whether a gradient may be NaN or infinite although the step isn't lost. */
    public boolean takesForeignGradients() {
        return takesForeignGradients;
    }

    public Copies copies() {
        return copies;
    }

    /** Returns the sums of arrays outside of layers and vertices. */
    public Sums sums() {
        return sums;
    }

    /** Returns products of arrays that aren't the engine's own, of any strides. */
    public MatrixProducts products() {
        return products;
    }

    /** Returns the threads for parts of a computation. */
    public Parts parts() {
        return parts;
    }

    /** Returns what notes the kernels of a pass in inference. */
    public Tape tape() {
        return tape;
    }

    AlignedMemory scratchpad() {
        return scratchpad;
    }

    /** Returns the memory for gradients that a layer returns unchanged. */
    public LentGradients lentGradients() {
        return lentGradients;
    }

    /** Returns the memory for activations that layers pass through unchanged in inference. */
    public ActivationMemory activationMemory() {
        return activationMemory;
    }

    /**
     * Passes on, in inference, the result of another layer.
     *
     * @return the array itself if it stays as long as DL4J requires, else a copy
     */
    public INDArray passThrough(INDArray array, LayerWorkspaceMgr workspaceMgr) {
        return activationMemory.passedOn(array, workspaceMgr).orElseGet(() -> {
            INDArray copy = Workspaces.like(array, workspaceMgr, ArrayType.ACTIVATIONS);
            copies.copy(array, copy);
            return copy;
        });
    }

    /**
     * Returns the memory for numbers that one kernel leaves for the next, such as numbers between two orders in memory.
     */
    public AlignedMemory staging() {
        return staging;
    }

    /** Returns the memory for a gradient of weights until it's in the network's order. */
    public AlignedMemory gradientMemory() {
        return gradientMemory;
    }

    /**
     * Returns attributes of a primitive that uses this context's scratchpad: oneDNN's own belongs to the thread that
     * made the primitive.
     */
    public static primitive_attr attributes() {
        primitive_attr attributes = new primitive_attr();
        attributes.set_scratchpad_mode(dnnl.scratchpad_mode.user);
        return attributes;
    }

    /**
     * Makes one of oneDNN's objects and frees the temporary ones.
     *
     * @param what layer, primitive and shapes, for the message if it fails
     * @param work the work of each of its kernels, unless the maker sets another
     * @throws KernelFailure if oneDNN fails
     */
    public static <T> T make(String what, Work work, Supplier<T> maker) {
        MADE.increment();
        try (PointerScope temporary = new PointerScope()) {
            return work.withItsThreads(maker);
        } catch (AmpException e) {
            throw e;
        } catch (RuntimeException e) {
            throw new KernelFailure(what, e);
        }
    }

    /** Called before each kernel is made. A test lets it fail: there are few shapes that oneDNN itself refuses. */
    void beforeKernel() {}

    /**
     * Returns the same primitive in the fastest of oneDNN's implementations that isn't generated for a shape. oneDNN
     * lists them by speed.
     */
    public static <F extends primitive_desc> F withoutGeneratedCode(F descriptor) {
        while (!descriptor.impl_info_str().getString().matches("(conv:)?(gemm|ref).*")) {
            if (!descriptor.next_impl()) {
                throw new AmpException("oneDNN has no implementation besides "
                        + descriptor.impl_info_str().getString());
            }
        }
        return descriptor;
    }

    /**
     * Returns a primitive in the fastest of oneDNN's implementations that have a name: in its first one if none has it.
     *
     * @param name how oneDNN's name of the implementation begins
     */
    public static <F extends primitive_desc> F named(String name, Supplier<F> first) {
        F named = first.get();
        while (!named.impl_info_str().getString().startsWith(name)) {
            if (!named.next_impl()) {
                return first.get();
            }
        }
        return named;
    }

    /** Returns how many of oneDNN's objects were made in this process: not once while shapes stay the same. */
    public static long made() {
        return MADE.sum();
    }

    @Override
    public void close() {
        tape.close();
        parts.close();
        copies.close();
        sums.close();
        products.close();
        scratchpad.close();
        lentGradients.close();
        staging.close();
        gradientMemory.close();
        queue.deallocate();
    }
}
