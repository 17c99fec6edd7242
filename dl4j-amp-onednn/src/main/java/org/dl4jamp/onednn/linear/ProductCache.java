package org.dl4jamp.onednn.linear;

import java.util.function.Function;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.primitive.Eltwise;
import org.dl4jamp.onednn.primitive.KernelCache;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.weights.WeightCopies;
import org.dl4jamp.twin.Twin;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The kernels of a layer that multiplies by weights, for the shapes of its input used last, and the copies of its
 * weights, which they share.
 */
public final class ProductCache implements AutoCloseable {
    private final KernelCache<Layout, ProductKernels> kernels = new KernelCache<>(KernelCache.SHAPES);
    private final WeightCopies copies;
    private final OneDnnContext context;

    public ProductCache(OneDnnContext context) {
        this.context = context;
        this.copies = new WeightCopies(context.infers());
    }

    /**
     * Returns the kernels for a shape.
     *
     * @param maker is given the copies of the weights
     */
    public ProductKernels get(Layout input, Function<WeightCopies, ProductKernels> maker) {
        return kernels.get(input, () -> maker.apply(copies));
    }

    /**
     * Returns the kernels of a layer whose weights are a matrix.
     *
     * @param input {@code [rows, nIn]}
     * @param sum whether another array may be added before the activation function is applied
     * @param function the activation function to apply; null if there is none
     */
    public ProductKernels dense(
            String layer,
            DataType type,
            INDArray input,
            ProductKernels.Parameters parameters,
            boolean sum,
            Eltwise function) {
        Layout rows = Layout.dense(type, input.shape());
        INDArray weights = parameters.weights();
        boolean hasBias = parameters.bias() != null;
        return get(rows, ours -> {
            Layout output = Layout.dense(type, input.size(0), weights.size(0));
            ProductKernels.Task task =
                    new ProductKernels.Task(layer, rows, Layout.of(weights), hasBias, output, sum, function);
            return ProductKernels.make(context, new DensePrimitives(ours.areKept()), ours, task);
        });
    }

    public Twin.Weights weights() {
        return copies;
    }

    @Override
    public void close() {
        kernels.close();
        copies.close();
    }
}
