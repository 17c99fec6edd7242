package org.dl4jamp.onednn.weights;

import org.bytedeco.dnnl.memory;
import org.dl4jamp.onednn.memory.AlignedMemory;
import org.dl4jamp.onednn.memory.Place;

/**
 * Memory for a copy of one layer's weights, in whatever order in memory the primitive wants that reads it next. All
 * shapes of the layer's input share it: their primitives may want it in many orders (without AVX-512 in six, for a
 * convolution), but each pass makes the copy anew. One that is made once, for inference, is for those that want the
 * same order.
 */
final class WeightCopy implements AutoCloseable {
    private final AlignedMemory bytes = new AlignedMemory();
    private final boolean keeps;
    private ArrangedWeights content;
    private boolean current;

    private WeightCopy(boolean keeps) {
        this.keeps = keeps;
    }

    /** By each pass. */
    static WeightCopy madeAnew() {
        return new WeightCopy(false);
    }

    /** By the first pass after the parameters have changed. All that it is for has to be in one order. */
    static WeightCopy madeOnce() {
        return new WeightCopy(true);
    }

    /** Makes sure that weights in an order have room. What has been copied may be lost. */
    void reserve(memory.desc order) {
        content = null;
        bytes.reserve(order.get_size());
    }

    Place bytes() {
        return Place.kept(bytes.address());
    }

    /** Says whose copy it is from now on. */
    void takenBy(ArrangedWeights weights) {
        content = weights;
        current = keeps;
    }

    /** Returns whether it's of the parameters of now, and needn't be made. */
    boolean isCurrent() {
        return current;
    }

    /** Says that the parameters have changed. */
    void outdate() {
        current = false;
    }

    /** Returns whether what these weights have copied is still there. */
    boolean isOf(ArrangedWeights weights) {
        return content == weights;
    }

    @Override
    public void close() {
        content = null;
        current = false;
        bytes.close();
    }
}
