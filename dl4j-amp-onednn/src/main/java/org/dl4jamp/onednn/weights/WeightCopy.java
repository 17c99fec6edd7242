package org.dl4jamp.onednn.weights;

import org.bytedeco.dnnl.memory;
import org.dl4jamp.onednn.memory.AlignedMemory;
import org.dl4jamp.onednn.memory.Place;

/**
 * Memory for a copy of one layer's weights, in the order in memory of its next reader. All shapes of the layer's input
 * share it. Their primitives may need many orders (without AVX-512 six, for a convolution), but each pass makes the
 * copy anew. A copy that is made once, for inference, serves primitives with the same order.
 */
final class WeightCopy implements AutoCloseable {
    private final AlignedMemory bytes = new AlignedMemory();
    private final boolean keeps;
    private Object content;
    private boolean current;

    /**
     * @param keeps whether only the first pass after a change of parameters makes it; its readers use one order then
     */
    WeightCopy(boolean keeps) {
        this.keeps = keeps;
    }

    /** Enlarges the memory for weights in an order, if it's smaller. The copy may be lost. */
    void reserve(memory.desc order) {
        content = null;
        bytes.reserve(order.get_size());
    }

    Place bytes() {
        return Place.kept(bytes.address());
    }

    void clear() {
        bytes.clear();
    }

    /** Sets the weights that it's a copy of. */
    void takenBy(Object weights) {
        content = weights;
        current = keeps;
    }

    /** Returns whether it equals the current parameters, and needn't be made. */
    boolean isCurrent() {
        return current;
    }

    void outdate() {
        current = false;
    }

    /** Returns whether it's still the copy of these weights. */
    boolean isOf(Object weights) {
        return content == weights;
    }

    @Override
    public void close() {
        content = null;
        current = false;
        bytes.close();
    }
}
