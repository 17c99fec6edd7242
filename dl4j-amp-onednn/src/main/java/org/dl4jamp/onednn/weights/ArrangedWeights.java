package org.dl4jamp.onednn.weights;

import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A network's weights in the type and order in memory that a primitive reads: the weights themselves, or a reordered
 * copy.
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
     * Makes weights that a primitive reads; to be called within {@link OneDnnContext#make}.
     *
     * @param network the layout of the network's weights
     * @param wanted the layout that the primitive reads
     */
    public static ArrangedWeights read(
            OneDnnContext context, String what, WeightCopy place, memory.desc network, memory.desc wanted) {
        return wanted.equals(network)
                ? new ArrangedWeights(null, null, null)
                : copied(context, what, place, network, wanted, null);
    }

    /**
     * Returns the same weights for another primitive: these if they're in its order, else a copy. Copying the copy
     * takes a fraction of the time: the network's weights are so far apart that each takes a cache line.
     *
     * @param network the layout of the network's weights
     * @param current the layout of these
     * @param wanted the layout that the other primitive reads
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
        place.reserve(to.get_size());
        return new ArrangedWeights(place, context.copies().make(what, from, to), source);
    }

    /** Returns whether {@link #copy} leaves others with a copy of the same weights, too. */
    public boolean bringsUpToDate(ArrangedWeights other) {
        return other == this || other == source;
    }

    /** Returns whether the last copy hasn't been overwritten. */
    public boolean areThere() {
        return place == null || place.isOf(this);
    }

    /** Prepares the next run of a kernel, which reads the network's weights or the copy of them. */
    public void bind(Kernel kernel, INDArray networks) {
        kernel.bind(dnnl.DNNL_ARG_WEIGHTS, place == null ? Place.of(networks) : place.place());
    }

    /** Copies the network's weights, if these aren't the same, nor a copy that is kept. */
    public void copy(INDArray networks) {
        if (place == null || place.isCurrent()) {
            return;
        }
        if (source != null) {
            source.copy(networks);
        }
        place.takenBy(this);
        copy.copy(source == null ? Place.of(networks) : source.place.place(), place.place());
    }

    @Override
    public void close() {
        if (copy != null) {
            copy.close();
        }
    }
}
