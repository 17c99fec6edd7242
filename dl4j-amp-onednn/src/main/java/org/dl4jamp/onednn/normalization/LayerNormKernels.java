package org.dl4jamp.onednn.normalization;

import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.layer_normalization_backward;
import org.bytedeco.dnnl.layer_normalization_forward;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Layer normalization of the rows of FP32 matrices of one shape: {@code (x - mean) / deviation * gain + bias}.
 *
 * <p>Rows of equal numbers have no deviation, such as those of a layer behind dead ReLUs. They become zero, and so does
 * their gradient, as in DL4J.
 */
public final class LayerNormKernels implements AutoCloseable {
    /** DL4J adds 1e-12 to deviations. */
    private static final float EPSILON = 1e-24f;

    private final Kernel forward;
    private final Kernel backward;
    private final INDArray mean;
    private final INDArray variance;
    private final boolean hasBias;

    private LayerNormKernels(OneDnnContext context, String what, long rows, long columns, boolean hasBias) {
        this.hasBias = hasBias;
        memory.desc matrix = Layout.dense(DataType.FLOAT, rows, columns).descriptor();
        memory.desc statistics = Layout.dense(DataType.FLOAT, rows).descriptor();
        int flags = hasBias ? dnnl.dnnl_use_scale | dnnl.dnnl_use_shift : dnnl.dnnl_use_scale;
        layer_normalization_forward.primitive_desc first = new layer_normalization_forward.primitive_desc(
                OneDnnContext.cpu(),
                dnnl.prop_kind.forward_training.value,
                matrix,
                matrix,
                statistics,
                EPSILON,
                flags,
                OneDnnContext.attributes(),
                false);
        layer_normalization_backward.primitive_desc back = new layer_normalization_backward.primitive_desc(
                OneDnnContext.cpu(),
                dnnl.prop_kind.backward.value,
                matrix,
                matrix,
                matrix,
                statistics,
                EPSILON,
                flags,
                first,
                OneDnnContext.attributes(),
                false);
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            mean = Nd4j.createUninitialized(DataType.FLOAT, rows);
            variance = Nd4j.createUninitialized(DataType.FLOAT, rows);
        }
        forward = new Kernel(context, what, first);
        backward = new Kernel(context, what + ", backward", back);
    }

    public static LayerNormKernels make(OneDnnContext context, String layer, long rows, long columns, boolean hasBias) {
        String what = layer + ": layer normalization of FLOAT [" + rows + ", " + columns + "]";
        return OneDnnContext.make(
                what,
                Work.ofNumbers(rows * columns),
                () -> new LayerNormKernels(context, what, rows, columns, hasBias));
    }

    /**
     * Normalizes rows, and keeps their means and variances.
     *
     * @param bias null if there is none
     */
    public void forward(INDArray rows, INDArray gain, INDArray bias, INDArray output) {
        if (hasBias) {
            forward.bind(dnnl.DNNL_ARG_SHIFT, bias);
        }
        forward.bind(dnnl.DNNL_ARG_SRC, rows)
                .bind(dnnl.DNNL_ARG_MEAN, mean)
                .bind(dnnl.DNNL_ARG_VARIANCE, variance)
                .bind(dnnl.DNNL_ARG_DST, output)
                .bind(dnnl.DNNL_ARG_SCALE, gain)
                .run();
    }

    /**
     * Runs the backward pass of the last {@link #forward}.
     *
     * @param rows the input of the forward pass
     * @param biasGradient null if there is no bias
     * @param rowsGradient may be the place of the output's gradient
     */
    public void backward(
            INDArray rows,
            INDArray gain,
            INDArray outputGradient,
            INDArray gainGradient,
            INDArray biasGradient,
            INDArray rowsGradient) {
        if (hasBias) {
            backward.bind(dnnl.DNNL_ARG_DIFF_SHIFT, biasGradient);
        }
        backward.bind(dnnl.DNNL_ARG_SRC, rows)
                .bind(dnnl.DNNL_ARG_MEAN, mean)
                .bind(dnnl.DNNL_ARG_VARIANCE, variance)
                .bind(dnnl.DNNL_ARG_SCALE, gain)
                .bind(dnnl.DNNL_ARG_DIFF_DST, outputGradient)
                .bind(dnnl.DNNL_ARG_DIFF_SCALE, gainGradient)
                .bind(dnnl.DNNL_ARG_DIFF_SRC, rowsGradient)
                .run();
        for (long row = 0; row < variance.length(); row++) {
            if (variance.getFloat(row) == 0) {
                rowsGradient.getRow(row).assign(0);
            }
        }
    }

    @Override
    public void close() {
        forward.close();
        backward.close();
    }
}
