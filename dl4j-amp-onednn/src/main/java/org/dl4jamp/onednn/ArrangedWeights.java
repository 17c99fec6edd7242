package org.dl4jamp.onednn;

import java.util.List;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A network's weights, or their gradients, in the type and order in memory that a primitive wants: those of the network themselves where they
 * are in it, else a copy.
 */
final class ArrangedWeights implements AutoCloseable {
    private final memory held;
    private final List<Kernel> copies;
    private final int network;
    private final AlignedMemory staging;
    private final ArrangedWeights source;

    /** In place. */
    private ArrangedWeights() {
        this(null, List.of(), dnnl.DNNL_ARG_UNDEF, null, null);
    }

    private ArrangedWeights(
            memory held, List<Kernel> copies, int network, AlignedMemory staging, ArrangedWeights source) {
        this.held = held;
        this.copies = copies;
        this.network = network;
        this.staging = staging;
        this.source = source;
    }

    private static memory hold(memory.desc wanted) {
        return new memory(wanted, OneDnnContext.cpu()).retainReference();
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
        memory held = hold(wanted);
        Kernel copy = context.copyKernel(what, network, wanted)
                .argument(dnnl.DNNL_ARG_FROM, network)
                .argument(dnnl.DNNL_ARG_TO, held);
        return new ArrangedWeights(held, List.of(copy), dnnl.DNNL_ARG_FROM, null, null);
    }

    /**
     * The same weights as another primitive reads them: these if they're in its order, else a copy. A copy of a copy takes a fraction of the time of one
     * of the network's weights, which lie so far apart that each takes a line of the cache.
     *
     * @param network how the network's lie in memory
     * @param current how these do
     * @param wanted how the other primitive wants them
     */
    ArrangedWeights arranged(
            OneDnnContext context, String what, memory.desc network, memory.desc current, memory.desc wanted) {
        if (wanted.equals(current)) {
            return this;
        }
        if (held == null || wanted.equals(network)) {
            return read(context, what, network, wanted);
        }
        memory other = hold(wanted);
        Kernel copy = context.copyKernel(what, current, wanted)
                .argument(dnnl.DNNL_ARG_FROM, held)
                .argument(dnnl.DNNL_ARG_TO, other);
        return new ArrangedWeights(other, List.of(copy), dnnl.DNNL_ARG_UNDEF, null, this);
    }

    /** Gradients that a primitive writes; takes what {@link #read} takes. */
    static ArrangedWeights written(OneDnnContext context, String what, memory.desc network, memory.desc wanted) {
        if (wanted.equals(network)) {
            return new ArrangedWeights();
        }
        memory held = hold(wanted);
        return BlockOrder.columns(wanted)
                .map(columns -> {
                    // oneDNN makes columns of squares, and rows of columns, in a third to a half of the time of both at
                    // once; those of the largest weights take as long, or a fifth longer.
                    Kernel first = context.copyKernel(what, wanted, columns)
                            .argument(dnnl.DNNL_ARG_FROM, held)
                            .argument(dnnl.DNNL_ARG_TO, columns);
                    Kernel second = context.copyKernel(what, columns, network)
                            .argument(dnnl.DNNL_ARG_FROM, columns)
                            .argument(dnnl.DNNL_ARG_TO, network);
                    context.staging().reserve(columns.get_size());
                    return new ArrangedWeights(held, List.of(first, second), dnnl.DNNL_ARG_TO, context.staging(), null);
                })
                .orElseGet(() -> {
                    Kernel copy = context.copyKernel(what, wanted, network)
                            .argument(dnnl.DNNL_ARG_FROM, held)
                            .argument(dnnl.DNNL_ARG_TO, network);
                    return new ArrangedWeights(held, List.of(copy), dnnl.DNNL_ARG_TO, null, null);
                });
    }

    /** Declares them as an argument of a kernel that wants them so. */
    Kernel declare(Kernel kernel, int argument, memory.desc wanted) {
        return held == null ? kernel.argument(argument, wanted) : kernel.argument(argument, held);
    }

    /** Whether {@link #copy} leaves others with a copy of the same weights, too. */
    boolean bringsUpToDate(ArrangedWeights other) {
        return other == this || other == source;
    }

    /** Prepares the next run of a kernel, which reads or writes the network's weights or the copy of them. */
    void bind(Kernel kernel, int argument, INDArray networks) {
        if (held == null) {
            kernel.bind(argument, networks);
        }
    }

    /** Copies between the network's weights and these, if they aren't the same. */
    void copy(INDArray networks) {
        if (held == null) {
            return;
        }
        if (staging != null) {
            copies.get(0).bind(dnnl.DNNL_ARG_TO, staging.address());
            copies.get(1).bind(dnnl.DNNL_ARG_FROM, staging.address());
        }
        if (source != null) {
            source.copy(networks);
        } else {
            copies.get(copies.size() - 1).bind(network, networks);
        }
        copies.forEach(Kernel::run);
    }

    @Override
    public void close() {
        if (held != null) {
            copies.forEach(Kernel::close);
            held.releaseReference();
        }
    }
}
