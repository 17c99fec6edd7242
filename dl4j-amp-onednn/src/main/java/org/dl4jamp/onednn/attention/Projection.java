package org.dl4jamp.onednn.attention;

import java.util.List;
import org.bytedeco.dnnl.global.dnnl;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.scores.BlockProduct;
import org.nd4j.linalg.api.buffer.DataType;

/** The product of each row of a matrix by weights, without bias, and its gradients. Sums are FP32, rounded once. */
final class Projection implements AutoCloseable {
    /** The order of weights in DL4J's parameters. */
    enum Order {
        /** {@code [heads, headSize, nIn]}. */
        OUTPUT_FIRST,
        /** {@code [nIn, nOut]}. */
        INPUT_FIRST
    }

    private final Order order;
    private final Kernel forward;
    private final Kernel backwardInput;
    private final Kernel backwardWeights;

    /**
     * The sizes of a projection.
     *
     * @param type of the matrix, the weights and the result
     * @param inputGradientType of the gradient of the matrix
     * @param gradientFactor of all gradients
     */
    record Sizes(
            DataType type,
            DataType inputGradientType,
            double gradientFactor,
            long rows,
            long nIn,
            long nOut,
            Order order) {}

    /** Makes it, to be called within {@link OneDnnContext#make}. */
    Projection(OneDnnContext context, String what, Sizes sizes) {
        order = sizes.order();
        DataType type = sizes.type();
        long nIn = sizes.nIn();
        long nOut = sizes.nOut();
        boolean outputFirst = order == Order.OUTPUT_FIRST;
        Layout stored = outputFirst ? Layout.dense(type, nOut, nIn) : Layout.dense(type, nIn, nOut);
        Layout weights = outputFirst ? stored.permuted(1, 0) : stored;
        Layout x = Layout.dense(type, sizes.rows(), nIn);
        Layout y = Layout.dense(type, sizes.rows(), nOut);
        Layout left = (outputFirst ? y : x).permuted(1, 0);
        Layout right = outputFirst ? x : y;
        double factor = sizes.gradientFactor();
        forward = new BlockProduct(x, weights, y).kernel(context, what);
        backwardInput = new BlockProduct(y, weights.permuted(1, 0), x.as(sizes.inputGradientType()))
                .times(factor)
                .kernel(context, what);
        backwardWeights = new BlockProduct(left, right, stored.as(DataType.FLOAT))
                .times(factor)
                .kernel(context, what);
    }

    void forward(Place x, Place weights, Place y) {
        run(forward, x, weights, y);
    }

    void backwardInput(Place yGradient, Place weights, Place xGradient) {
        run(backwardInput, yGradient, weights, xGradient);
    }

    /** Writes the FP32 gradient of the weights. */
    void backwardWeights(Place x, Place yGradient, Place gradient) {
        boolean outputFirst = order == Order.OUTPUT_FIRST;
        run(backwardWeights, outputFirst ? yGradient : x, outputFirst ? x : yGradient, gradient);
    }

    private static void run(Kernel product, Place one, Place other, Place target) {
        product.bind(dnnl.DNNL_ARG_SRC, one)
                .bind(dnnl.DNNL_ARG_WEIGHTS, other)
                .bind(dnnl.DNNL_ARG_DST, target)
                .run();
    }

    @Override
    public void close() {
        List.of(forward, backwardInput, backwardWeights).forEach(Kernel::close);
    }
}
