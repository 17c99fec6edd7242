package org.dl4jamp.onednn;

import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A network's weights, or their gradients, in the type and order in memory that a primitive wants: those of the network themselves where they
 * are in it, else a copy.
 */
final class ArrangedWeights implements AutoCloseable {
    private final memory held;
    private final Kernel copy;
    private final int network;

    /** In place. */
    private ArrangedWeights() {
        held = null;
        copy = null;
        network = dnnl.DNNL_ARG_UNDEF;
    }

    private ArrangedWeights(memory held, Kernel copy, int network) {
        this.held = held;
        this.copy = copy;
        this.network = network;
    }

    /**
     * Weights that a primitive reads. To be made within {@link OneDnnContext#make}.
     *
     * @param what layer, primitive and shapes, for error messages
     * @param network how the network's lie in memory
     * @param wanted how the primitive wants them
     */
    static ArrangedWeights read(OneDnnContext context, String what, memory.desc network, memory.desc wanted) {
        if (wanted.equals(network)) {
            return new ArrangedWeights();
        }
        memory held = new memory(wanted, OneDnnContext.cpu()).retainReference();
        Kernel copy = context.copyKernel(what, network, wanted)
                .argument(dnnl.DNNL_ARG_FROM, network)
                .argument(dnnl.DNNL_ARG_TO, held);
        return new ArrangedWeights(held, copy, dnnl.DNNL_ARG_FROM);
    }

    /** Gradients that a primitive writes; takes what {@link #read} takes. */
    static ArrangedWeights written(OneDnnContext context, String what, memory.desc network, memory.desc wanted) {
        if (wanted.equals(network)) {
            return new ArrangedWeights();
        }
        memory held = new memory(wanted, OneDnnContext.cpu()).retainReference();
        Kernel copy = context.copyKernel(what, wanted, network)
                .argument(dnnl.DNNL_ARG_FROM, held)
                .argument(dnnl.DNNL_ARG_TO, network);
        return new ArrangedWeights(held, copy, dnnl.DNNL_ARG_TO);
    }

    /** Declares them as an argument of a kernel that wants them so. */
    Kernel declare(Kernel kernel, int argument, memory.desc wanted) {
        return held == null ? kernel.argument(argument, wanted) : kernel.argument(argument, held);
    }

    /** Prepares the next run of a kernel, which reads or writes the network's weights or the copy of them. */
    void bind(Kernel kernel, int argument, INDArray networks) {
        if (held == null) {
            kernel.bind(argument, networks);
        }
    }

    /** Copies between the network's weights and these, if they aren't the same. */
    void copy(INDArray networks) {
        if (held != null) {
            copy.bind(network, networks).run();
        }
    }

    @Override
    public void close() {
        if (held != null) {
            copy.close();
            held.releaseReference();
        }
    }
}
