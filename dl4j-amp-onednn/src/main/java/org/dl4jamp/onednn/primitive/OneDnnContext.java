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
 * What the twins of one network share: the stream that their kernels run in, the memory that kernels have in turn, and
 * its copies and sums.
 */
public final class OneDnnContext implements AutoCloseable {
    private static final LongAdder MADE = new LongAdder();

    private final stream queue = new stream(OneDnnLibrary.cpu());
    private final Copies copies = new Copies(this);
    private final Sums sums = new Sums(this);
    private final AlignedMemory scratchpad = new AlignedMemory();
    private final ActivationMemory activationMemory = new ActivationMemory();
    private final LentGradients lentGradients = new LentGradients();
    private final AlignedMemory staging = new AlignedMemory();
    private final AlignedMemory gradientMemory = new AlignedMemory();
    private boolean takesForeignGradients;

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

    /** Copies between types and orders in memory. */
    public Copies copies() {
        return copies;
    }

    /** Sums of arrays that no layer or vertex is asked for. */
    public Sums sums() {
        return sums;
    }

    /** The scratchpad of all kernels. */
    AlignedMemory scratchpad() {
        return scratchpad;
    }

    /** Gradients that a layer hands on untouched. */
    public LentGradients lentGradients() {
        return lentGradients;
    }

    /** Activations that layers hand on untouched in inference. */
    public ActivationMemory activationMemory() {
        return activationMemory;
    }

    /**
     * Hands on, in inference, what another layer has computed.
     *
     * @return the array itself if it lives as long as DL4J wants it to, else a copy
     */
    public INDArray handOn(INDArray array, LayerWorkspaceMgr workspaceMgr) {
        if (!activationMemory.endsEarly(array, workspaceMgr)) {
            return workspaceMgr.leverageTo(ArrayType.ACTIVATIONS, array);
        }
        INDArray copy = Workspaces.like(array, workspaceMgr, ArrayType.ACTIVATIONS);
        copies.copy(array, copy);
        return copy;
    }

    /**
     * Returns what one kernel leaves for the next that runs, such as numbers on their way from one order in memory to
     * another.
     */
    public AlignedMemory staging() {
        return staging;
    }

    /** The gradient of a layer's weights until it's in the network's order. */
    public AlignedMemory gradientMemory() {
        return gradientMemory;
    }

    /**
     * Attributes of a primitive whose scratchpad is this context's: oneDNN's own belongs to the thread that made the
     * primitive.
     */
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

    /**
     * The same primitive in the first of oneDNN's implementations, which are in the order of their speed, that isn't
     * generated for a shape.
     */
    public static primitive_desc withoutGeneratedCode(primitive_desc descriptor) {
        while (!descriptor.impl_info_str().getString().matches("(conv:)?(gemm|ref).*")) {
            if (!descriptor.next_impl()) {
                throw new AmpException("oneDNN has no implementation besides "
                        + descriptor.impl_info_str().getString());
            }
        }
        return descriptor;
    }

    /** Returns how often something was made of oneDNN in this process: not once while shapes stay the same. */
    public static long made() {
        return MADE.sum();
    }

    @Override
    public void close() {
        copies.close();
        sums.close();
        scratchpad.close();
        lentGradients.close();
        staging.close();
        gradientMemory.close();
        queue.deallocate();
    }
}
