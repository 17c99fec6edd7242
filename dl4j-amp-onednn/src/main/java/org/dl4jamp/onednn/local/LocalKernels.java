package org.dl4jamp.onednn.local;

import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.post_ops;
import org.bytedeco.dnnl.primitive_attr;
import org.bytedeco.dnnl.reorder;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.Multiplication;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Windows and products of a locally connected layer for one shape, in FP32. The windows are copied one by one, then all
 * are multiplied at once, each by its own weights.
 */
final class LocalKernels implements AutoCloseable {
    private final LocalForm form;
    private final long minibatch;
    private final long[] strides;
    private final Kernel take;
    private final Kernel add;
    private final Kernel forward;
    private final Kernel backwardWindows;
    private final Kernel backwardWeights;

    /** @param padded the shape of the input with its padding, the channels as the second axis */
    private LocalKernels(OneDnnContext context, String what, LocalForm form, long... padded) {
        this.form = form;
        minibatch = padded[0];
        strides = strides(padded);
        long[] part = padded.clone();
        for (int axis = 0; axis < form.axes().size(); axis++) {
            part[axis + 2] = form.axes().get(axis).kernel();
        }
        memory.desc inArray = Layout.strided(DataType.FLOAT, part, strides).descriptor();
        memory.desc window = floats(part).descriptor();
        Work work = Work.ofNumbers(floats(part).length());
        take = work.withItsThreads(() -> context.copies().make(what, inArray, window));
        add = work.withItsThreads(() -> adding(context, what, window, inArray));
        long number = form.windows();
        long covered = form.covered();
        Layout windows = floats(number, minibatch, covered);
        Layout weights = floats(number, covered, form.nOut());
        Layout sums = floats(number, minibatch, form.nOut());
        Multiplication product =
                new Multiplication(context, what, windows.descriptor(), weights.descriptor(), sums.descriptor());
        forward = (form.hasBias() ? product.plus(floats(1, 1, form.nOut()).descriptor()) : product).kernel();
        backwardWindows = new Multiplication(
                        context,
                        what + ", backward",
                        sums.descriptor(),
                        weights.permuted(0, 2, 1).descriptor(),
                        windows.descriptor())
                .kernel();
        backwardWeights = new Multiplication(
                        context,
                        what + ", backward weights",
                        windows.permuted(0, 2, 1).descriptor(),
                        sums.descriptor(),
                        weights.descriptor())
                .kernel();
    }

    static LocalKernels make(OneDnnContext context, String layer, LocalForm form, long... padded) {
        String what = layer + ": locally connected " + floats(padded);
        return OneDnnContext.make(
                what, Work.ofNumbers(floats(padded).length()), () -> new LocalKernels(context, what, form, padded));
    }

    private static Layout floats(long... shape) {
        return Layout.dense(DataType.FLOAT, shape);
    }

    private static long[] strides(long... shape) {
        long[] strides = new long[shape.length];
        long stride = 1;
        for (int axis = shape.length - 1; axis >= 0; axis--) {
            strides[axis] = stride;
            stride *= shape[axis];
        }
        return strides;
    }

    private static Kernel adding(OneDnnContext context, String what, memory.desc from, memory.desc to) {
        post_ops sum = new post_ops();
        sum.append_sum();
        primitive_attr attributes = OneDnnContext.attributes();
        attributes.set_post_ops(sum);
        return new Kernel(
                context,
                what + ", added",
                new reorder.primitive_desc(OneDnnContext.cpu(), from, OneDnnContext.cpu(), to, attributes, false));
    }

    private long place(long window) {
        long place = 0;
        for (int axis = 0; axis < form.axes().size(); axis++) {
            place += form.begin(window, axis) * strides[axis + 2];
        }
        return place;
    }

    private Slab window(INDArray windows, long window) {
        return Slab.of(windows).plus(window * minibatch * form.covered());
    }

    /** Copies windows {@code [windows, minibatch, covered]} out of an array. */
    void take(INDArray padded, INDArray windows) {
        for (long window = 0; window < form.windows(); window++) {
            take.copy(
                    Slab.of(padded).plus(place(window)).place(),
                    window(windows, window).place());
        }
    }

    /** Adds windows to an array. */
    void add(INDArray windows, INDArray padded) {
        for (long window = 0; window < form.windows(); window++) {
            add.copy(
                    window(windows, window).place(),
                    Slab.of(padded).plus(place(window)).place());
        }
    }

    /** Computes sums {@code [windows, minibatch, nOut]}; the bias is null if there is none. */
    void forward(INDArray windows, INDArray weights, INDArray bias, INDArray sums) {
        if (form.hasBias()) {
            forward.bind(dnnl.DNNL_ARG_BIAS, bias);
        }
        run(forward, windows, weights, sums);
    }

    void backwardWindows(INDArray delta, INDArray weights, INDArray windows) {
        run(backwardWindows, delta, weights, windows);
    }

    void backwardWeights(INDArray windows, INDArray delta, INDArray gradient) {
        run(backwardWeights, windows, delta, gradient);
    }

    private static void run(Kernel kernel, INDArray source, INDArray weights, INDArray target) {
        kernel.bind(dnnl.DNNL_ARG_SRC, source)
                .bind(dnnl.DNNL_ARG_WEIGHTS, weights)
                .bind(dnnl.DNNL_ARG_DST, target)
                .run();
    }

    @Override
    public void close() {
        take.close();
        add.close();
        forward.close();
        backwardWindows.close();
        backwardWeights.close();
    }
}
