package org.dl4jamp.onednn;

import java.util.function.Function;

/** The kernels of a layer that multiplies by weights, for the shapes of its input used last, and the copies of its weights, which they share. */
final class ProductCache implements AutoCloseable {
    private final KernelCache<Layout, ProductKernels> kernels = new KernelCache<>(Twins.SHAPES);
    private final WeightCopies copies = new WeightCopies();

    /**
     * The kernels for a shape.
     *
     * @param maker is given the copies of the weights
     */
    ProductKernels get(Layout input, Function<WeightCopies, ProductKernels> maker) {
        return kernels.get(input, () -> maker.apply(copies));
    }

    @Override
    public void close() {
        kernels.close();
        copies.close();
    }
}
