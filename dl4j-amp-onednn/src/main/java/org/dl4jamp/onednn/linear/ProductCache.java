package org.dl4jamp.onednn.linear;

import java.util.function.Function;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.primitive.KernelCache;
import org.dl4jamp.onednn.weights.KeptWeights;
import org.dl4jamp.onednn.weights.WeightCopies;

/**
 * The kernels of a layer that multiplies by weights, for the shapes of its input used last, and the copies of its
 * weights, which they share.
 */
public final class ProductCache implements AutoCloseable {
    private final KernelCache<Layout, ProductKernels> kernels = new KernelCache<>(KernelCache.SHAPES);
    private final WeightCopies copies = new WeightCopies();

    /**
     * Returns the kernels for a shape.
     *
     * @param maker is given the copies of the weights
     */
    public ProductKernels get(Layout input, Function<WeightCopies, ProductKernels> maker) {
        return kernels.get(input, () -> maker.apply(copies));
    }

    /** Returns the copies of the weights. */
    public KeptWeights weights() {
        return copies;
    }

    @Override
    public void close() {
        kernels.close();
        copies.close();
    }
}
