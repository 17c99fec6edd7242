package org.dl4jamp.onednn.weights;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.twin.Twin;

/**
 * One layer's copies of its weights, whatever the number of shapes of its input. In training there are two. In
 * inference there is one for each order in memory that a forward pass reads, which is valid until the parameters
 * change.
 */
public final class WeightCopies implements Twin.Weights, AutoCloseable {
    private record Kept(memory.desc order, WeightCopy copy) {}

    private final WeightCopy forward = new WeightCopy(false);
    private final WeightCopy backward = new WeightCopy(false);
    private final List<Kept> kept = new ArrayList<>();
    private final boolean keeps;

    /** @param keeps whether they're made once, and for forward passes alone */
    public WeightCopies(boolean keeps) {
        this.keeps = keeps;
    }

    /** Returns the copy that forward passes read. */
    public WeightCopy forward() {
        return forward;
    }

    /** Returns the copy that backward passes read, and forward passes with the same order. */
    public WeightCopy backward() {
        return backward;
    }

    /**
     * Returns the copy in an order that forward passes read in inference. To be called within
     * {@link OneDnnContext#make}.
     */
    public WeightCopy kept(memory.desc order) {
        return kept.stream()
                .filter(known -> known.order().equals(order))
                .findFirst()
                .orElseGet(() -> add(order))
                .copy();
    }

    private Kept add(memory.desc order) {
        Kept added = new Kept(new memory.desc(order).retainReference(), new WeightCopy(true));
        kept.add(added);
        return added;
    }

    /** Returns whether they're made once, and for forward passes alone. */
    public boolean areKept() {
        return keeps;
    }

    @Override
    public void refresh() {
        kept.forEach(known -> known.copy().refresh());
    }

    @Override
    public void close() {
        forward.close();
        backward.close();
        kept.forEach(known -> {
            known.order().releaseReference();
            known.copy().close();
        });
        kept.clear();
    }
}
