package org.dl4jamp.onednn.product;

import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.ndarray.INDArray;

/** A network's weights in the type and order in memory that a primitive wants: those of the network themselves where they are in it, else a copy. */
final class ArrangedWeights implements AutoCloseable {
    private final memory held;
    private final Kernel copy;
    private final ArrangedWeights source;

    private ArrangedWeights(memory held, Kernel copy, ArrangedWeights source) {
        this.held = held;
        this.copy = copy;
        this.source = source;
    }

    /**
     * Weights that a primitive reads. To be made within {@link OneDnnContext#make}.
     *
     * @param what layer, primitive and shapes, for error messages
     * @param copies where a copy is, or goes
     * @param network how the network's lie in memory
     * @param wanted how the primitive wants them
     */
    static ArrangedWeights read(
            OneDnnContext context, String what, WeightCopies copies, memory.desc network, memory.desc wanted) {
        if (wanted.equals(network)) {
            return new ArrangedWeights(null, null, null);
        }
        memory held = copies.in(wanted);
        Kernel copy = context.copies()
                .kernel(what, network, wanted)
                .argument(dnnl.DNNL_ARG_FROM, network)
                .argument(dnnl.DNNL_ARG_TO, held);
        return new ArrangedWeights(held, copy, null);
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
            OneDnnContext context,
            String what,
            WeightCopies copies,
            memory.desc network,
            memory.desc current,
            memory.desc wanted) {
        if (wanted.equals(current)) {
            return this;
        }
        if (held == null || wanted.equals(network)) {
            return read(context, what, copies, network, wanted);
        }
        memory other = copies.in(wanted);
        Kernel copy = context.copies()
                .kernel(what, current, wanted)
                .argument(dnnl.DNNL_ARG_FROM, held)
                .argument(dnnl.DNNL_ARG_TO, other);
        return new ArrangedWeights(other, copy, this);
    }

    /** Declares them as an argument of a kernel that wants them so. */
    Kernel declare(Kernel kernel, memory.desc wanted) {
        return held == null
                ? kernel.argument(dnnl.DNNL_ARG_WEIGHTS, wanted)
                : kernel.argument(dnnl.DNNL_ARG_WEIGHTS, held);
    }

    /** Whether {@link #copy} leaves others with a copy of the same weights, too. */
    boolean bringsUpToDate(ArrangedWeights other) {
        return other == this || other == source;
    }

    /** Prepares the next run of a kernel, which reads the network's weights or the copy of them. */
    void bind(Kernel kernel, INDArray networks) {
        if (held == null) {
            kernel.bind(dnnl.DNNL_ARG_WEIGHTS, networks);
        }
    }

    /** Copies the network's weights, if these aren't the same. */
    void copy(INDArray networks) {
        if (held == null) {
            return;
        }
        if (source != null) {
            source.copy(networks);
        } else {
            copy.bind(dnnl.DNNL_ARG_FROM, networks);
        }
        copy.run();
    }

    @Override
    public void close() {
        if (copy != null) {
            copy.close();
        }
    }
}
