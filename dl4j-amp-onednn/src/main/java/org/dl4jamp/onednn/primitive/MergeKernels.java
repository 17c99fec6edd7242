package org.dl4jamp.onednn.primitive;

import org.bytedeco.dnnl.binary;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.post_ops;
import org.bytedeco.dnnl.primitive_attr;
import org.dl4jamp.onednn.memory.Layout;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The elementwise merge of the two directions of a bidirectional layer; in FP32, rounded once. */
public final class MergeKernels implements AutoCloseable {
    private final Kernel add;
    private final Kernel average;
    private final Kernel multiply;

    public static MergeKernels make(OneDnnContext context, String layer, Layout layout) {
        String what = layer + ": merges of " + layout;
        return OneDnnContext.make(what, Work.ofNumbers(layout.length()), () -> {
            memory.desc array = layout.descriptor();
            post_ops half = new post_ops();
            half.append_eltwise(dnnl.algorithm.eltwise_linear, 0.5f, 0);
            primitive_attr halving = OneDnnContext.attributes();
            halving.set_post_ops(half);
            return new MergeKernels(
                    kernel(context, what, dnnl.algorithm.binary_add, array, OneDnnContext.attributes()),
                    kernel(context, what, dnnl.algorithm.binary_add, array, halving),
                    kernel(context, what, dnnl.algorithm.binary_mul, array, OneDnnContext.attributes()));
        });
    }

    private MergeKernels(Kernel add, Kernel average, Kernel multiply) {
        this.add = add;
        this.average = average;
        this.multiply = multiply;
    }

    private static Kernel kernel(
            OneDnnContext context, String what, dnnl.algorithm function, memory.desc array, primitive_attr attributes) {
        binary.primitive_desc description =
                new binary.primitive_desc(OneDnnContext.cpu(), function, array, array, array, attributes, false);
        return new Kernel(context, what, description, new binary(description))
                .argument(dnnl.DNNL_ARG_SRC_0, array)
                .argument(dnnl.DNNL_ARG_SRC_1, array)
                .argument(dnnl.DNNL_ARG_DST, array);
    }

    public void add(INDArray one, INDArray other, INDArray sum) {
        run(add, one, other, sum);
    }

    public void average(INDArray one, INDArray other, INDArray mean) {
        run(average, one, other, mean);
    }

    public void multiply(INDArray one, INDArray other, INDArray product) {
        run(multiply, one, other, product);
    }

    private static void run(Kernel kernel, INDArray one, INDArray other, INDArray target) {
        kernel.bind(dnnl.DNNL_ARG_SRC_0, one)
                .bind(dnnl.DNNL_ARG_SRC_1, other)
                .bind(dnnl.DNNL_ARG_DST, target)
                .run();
    }

    @Override
    public void close() {
        add.close();
        average.close();
        multiply.close();
    }
}
