package org.dl4jamp.onednn.weights;

import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A network's weights in the type and order in memory that a primitive wants: those of the network themselves where
 * they are in it, else a copy.
 */
public final class ArrangedWeights implements AutoCloseable {
    private final WeightCopy place;
    private final Kernel copy;
    private final ArrangedWeights source;

    private ArrangedWeights(WeightCopy place, Kernel copy, ArrangedWeights source) {
        this.place = place;
        this.copy = copy;
        this.source = source;
    }

    /**
     * Weights that a primitive reads. To be made within {@link OneDnnContext#make}.
     *
     * @param what layer, primitive and shapes, for error messages
     * @param place where a copy goes
     * @param network how the network's lie in memory
     * @param wanted how the primitive wants them
     */
    public static ArrangedWeights read(
            OneDnnContext context, String what, WeightCopy place, memory.desc network, memory.desc wanted) {
        return wanted.equals(network)
                ? new ArrangedWeights(null, null, null)
                : copied(context, what, place, network, wanted, null);
    }

    /**
     * The same weights as another primitive reads them: these if they're in its order, else a copy. A copy of a copy
     * takes a fraction of the time of one of the network's weights, which lie so far apart that each takes a line of
     * the cache.
     *
     * @param other where a copy goes
     * @param network how the network's lie in memory
     * @param current how these do
     * @param wanted how the other primitive wants them
     */
    public ArrangedWeights arranged(
            OneDnnContext context,
            String what,
            WeightCopy other,
            memory.desc network,
            memory.desc current,
            memory.desc wanted) {
        if (wanted.equals(current)) {
            return this;
        }
        return place == null || wanted.equals(network)
                ? read(context, what, other, network, wanted)
                : copied(context, what, other, current, wanted, this);
    }

    private static ArrangedWeights copied(
            OneDnnContext context,
            String what,
            WeightCopy place,
            memory.desc from,
            memory.desc to,
            ArrangedWeights source) {
        place.reserve(to);
        Kernel copy = context.copies()
                .kernel(what, from, to)
                .argument(dnnl.DNNL_ARG_FROM, from)
                .argument(dnnl.DNNL_ARG_TO, to);
        return new ArrangedWeights(place, copy, source);
    }

    /** Returns whether {@link #copy} leaves others with a copy of the same weights, too. */
    public boolean bringsUpToDate(ArrangedWeights other) {
        return other == this || other == source;
    }

    /** Returns whether nothing else has been put in the place of what was copied last. */
    public boolean areThere() {
        return place == null || place.isOf(this);
    }

    /** Prepares the next run of a kernel, which reads the network's weights or the copy of them. */
    public void bind(Kernel kernel, INDArray networks) {
        if (place == null) {
            kernel.bind(dnnl.DNNL_ARG_WEIGHTS, networks);
        } else {
            kernel.bind(dnnl.DNNL_ARG_WEIGHTS, place.bytes());
        }
    }

    /** Copies the network's weights, if these aren't the same, nor a copy that is kept. */
    public void copy(INDArray networks) {
        if (place == null || place.isCurrent()) {
            return;
        }
        if (source == null) {
            copy.bind(dnnl.DNNL_ARG_FROM, networks);
        } else {
            source.copy(networks);
            copy.bind(dnnl.DNNL_ARG_FROM, source.place.bytes());
        }
        place.takenBy(this);
        copy.bind(dnnl.DNNL_ARG_TO, place.bytes()).run();
    }

    @Override
    public void close() {
        if (copy != null) {
            copy.close();
        }
    }
}
