package org.dl4jamp.onednn.twin;

import org.bytedeco.dnnl.binary;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.post_ops;
import org.bytedeco.dnnl.primitive_attr;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.primitive.Eltwise;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.Multiplication;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * {@code function(x * weight + bias)} with a weight and a bias for each column of a matrix, for one shape.
 *
 * <p>oneDNN 3.11 repeats a row with vector instructions only if matrix and result have one type. Of others each pass
 * takes a hundred times as long.
 */
final class ScaleKernels implements AutoCloseable {
    /** The place of the bias, the first operation after the product. */
    private static final int BIAS = dnnl.DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE | dnnl.DNNL_ARG_SRC_1;

    private final Kernel fused;
    private final Kernel sums;
    private final Kernel inputGradient;
    private final Kernel products;
    private final Kernel columnSums;
    private final INDArray ones;

    /** @param function null if it isn't oneDNN's */
    private ScaleKernels(OneDnnContext context, String what, Eltwise function, DataType type, long rows, long columns) {
        memory.desc array = Layout.dense(type, rows, columns).descriptor();
        memory.desc floats = Layout.dense(DataType.FLOAT, rows, columns).descriptor();
        memory.desc row = Layout.dense(DataType.FLOAT, 1, columns).descriptor();
        fused = function == null ? null : new Kernel(context, what, product(array, row, array, plus(row, function)));
        sums = new Kernel(context, what + ", sums", product(floats, row, floats, plus(row, Eltwise.IDENTITY)));
        inputGradient = new Kernel(context, what + ", backward", product(floats, row, floats, new post_ops()));
        products = new Kernel(context, what + ", products", product(floats, array, floats, new post_ops()));
        memory.desc summands = Layout.dense(DataType.FLOAT, 1, rows).descriptor();
        columnSums = new Multiplication(context, what + ", sums of columns", summands, floats, row).kernel();
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            ones = Nd4j.ones(DataType.FLOAT, 1, rows);
        }
    }

    static ScaleKernels make(
            OneDnnContext context, String layer, Eltwise function, DataType type, long rows, long columns) {
        String what = layer + ": scale of " + type + " [" + rows + ", " + columns + "]";
        return OneDnnContext.make(
                what,
                Work.ofNumbers(rows * columns),
                () -> new ScaleKernels(context, what, function, type, rows, columns));
    }

    private static post_ops plus(memory.desc bias, Eltwise function) {
        post_ops more = new post_ops();
        more.append_binary(dnnl.algorithm.binary_add, bias);
        if (!function.equals(Eltwise.IDENTITY)) {
            more.append_eltwise(function.function(), function.alpha(), function.beta());
        }
        return more;
    }

    private static binary.primitive_desc product(
            memory.desc one, memory.desc other, memory.desc result, post_ops more) {
        primitive_attr attributes = OneDnnContext.attributes();
        attributes.set_post_ops(more);
        return new binary.primitive_desc(
                OneDnnContext.cpu(), dnnl.algorithm.binary_mul, one, other, result, attributes, false);
    }

    /** Returns whether {@link #forward} computes the layer's function, too. */
    boolean isFused() {
        return fused != null;
    }

    /** Computes the values of the function. */
    void forward(INDArray x, INDArray weights, INDArray bias, INDArray output) {
        run(fused.bind(BIAS, bias), x, weights, output);
    }

    /**
     * Computes the arguments of the function.
     *
     * @param x FP32, as the result is
     */
    void sums(INDArray x, INDArray weights, INDArray bias, INDArray result) {
        run(sums.bind(BIAS, bias), x, weights, result);
    }

    /**
     * Computes the gradients of the parameters.
     *
     * @param delta the gradient of the sums, FP32
     * @param working FP32 memory of the same shape
     */
    void backwardParameters(
            INDArray x, INDArray delta, INDArray working, INDArray weightGradient, INDArray biasGradient) {
        run(products, delta, x, working);
        sumColumns(working, weightGradient);
        sumColumns(delta, biasGradient);
    }

    /**
     * Computes the gradient of the input.
     *
     * @param delta the gradient of the sums, FP32
     * @param next FP32; may be delta
     */
    void backwardInput(INDArray delta, INDArray weights, INDArray next) {
        run(inputGradient, delta, weights, next);
    }

    private void sumColumns(INDArray matrix, INDArray result) {
        columnSums
                .bind(dnnl.DNNL_ARG_SRC, ones)
                .bind(dnnl.DNNL_ARG_WEIGHTS, matrix)
                .bind(dnnl.DNNL_ARG_DST, result)
                .run();
    }

    private static void run(Kernel kernel, INDArray one, INDArray other, INDArray result) {
        kernel.bind(dnnl.DNNL_ARG_SRC_0, one)
                .bind(dnnl.DNNL_ARG_SRC_1, other)
                .bind(dnnl.DNNL_ARG_DST, result)
                .run();
    }

    @Override
    public void close() {
        if (fused != null) {
            fused.close();
        }
        sums.close();
        inputGradient.close();
        products.close();
        columnSums.close();
    }
}
