package org.dl4jamp.onednn.activation;

import java.util.Arrays;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.prelu_backward;
import org.bytedeco.dnnl.prelu_forward;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.primitive.Eltwise;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * ReLU with a slope below zero for each number of an example, or for several of them, for one layout of input and
 * output. Slopes and their gradients are FP32 and in column order, as in DL4J's parameters; the kernels read copies in
 * the order of the input.
 */
public final class PreluKernels implements AutoCloseable {
    /** Moves zeros to where the slope is ND4J's: one. */
    private static final Eltwise SHIFT = Eltwise.linear(1, Float.MIN_NORMAL);

    private final OneDnnContext context;
    private final Kernel forward;
    private final Kernel backward;
    private final Kernel shift;
    private final Kernel arrange;
    private final Kernel giveBack;

    private PreluKernels(OneDnnContext context, String what, Layout layout, long... slopes) {
        this.context = context;
        Shape shape = Shape.of(layout, slopes);
        prelu_forward.primitive_desc first = new prelu_forward.primitive_desc(
                OneDnnContext.cpu(),
                dnnl.prop_kind.forward_training,
                shape.array,
                shape.slopes,
                shape.array,
                OneDnnContext.attributes(),
                false);
        prelu_backward.primitive_desc back = new prelu_backward.primitive_desc(
                OneDnnContext.cpu(),
                shape.array,
                shape.slopes,
                shape.array,
                shape.slopes,
                shape.array,
                first,
                OneDnnContext.attributes(),
                false);
        forward = new Kernel(context, what, first);
        backward = new Kernel(context, what + ", backward", back);
        shift = EltwiseKernels.forward(context, what + ", moved", SHIFT, layout.descriptor());
        memory.desc columns = columns(slopes).descriptor();
        memory.desc ordered = ordered(layout, slopes).descriptor();
        arrange = context.copies().make(what, columns, ordered);
        giveBack = context.copies().make(what, ordered, columns);
        context.staging().reserve(shape.array.get_size());
    }

    /**
     * Makes the kernels.
     *
     * @param layout of the input, with the channels last in memory or in ND4J's order
     * @param slopes the shape of the slopes: the input's without the minibatch, with 1 for axes that share them
     */
    public static PreluKernels make(OneDnnContext context, String layer, Layout layout, long... slopes) {
        String what = layer + ": PReLU with slopes " + Arrays.toString(slopes) + " of " + layout;
        return OneDnnContext.make(
                what, Work.ofNumbers(layout.length()), () -> new PreluKernels(context, what, layout, slopes));
    }

    private static long[] withMinibatch(long first, long... rest) {
        long[] all = new long[rest.length + 1];
        all[0] = first;
        System.arraycopy(rest, 0, all, 1, rest.length);
        return all;
    }

    private static Layout columns(long... slopes) {
        long[] strides = new long[slopes.length];
        long stride = 1;
        for (int axis = 0; axis < slopes.length; axis++) {
            strides[axis] = stride;
            stride *= slopes[axis];
        }
        return Layout.strided(DataType.FLOAT, withMinibatch(1, slopes), withMinibatch(1, strides));
    }

    private static boolean isDense(Layout layout) {
        return layout.equals(Layout.dense(layout.type(), layout.shape()));
    }

    private static Layout ordered(Layout layout, long... slopes) {
        long[] shape = withMinibatch(1, slopes);
        return isDense(layout) ? Layout.dense(DataType.FLOAT, shape) : Layout.channelsLast(DataType.FLOAT, shape);
    }

    /** Layouts of which oneDNN has fast kernels, where there are some: matrices with a slope for each column. */
    private record Shape(memory.desc array, memory.desc slopes) {
        static Shape of(Layout layout, long... slopes) {
            long[] shape = layout.shape();
            long numbers = Arrays.stream(slopes).reduce(1, (a, b) -> a * b);
            boolean ofEachNumber = numbers * shape[0] == layout.length();
            boolean ofEachChannel = numbers == shape[1] && slopes[0] == shape[1] && !isDense(layout);
            if (ofEachNumber || ofEachChannel) {
                return new Shape(
                        Layout.dense(layout.type(), layout.length() / numbers, numbers)
                                .descriptor(),
                        Layout.dense(DataType.FLOAT, 1, numbers).descriptor());
            }
            return new Shape(layout.descriptor(), ordered(layout, slopes).descriptor());
        }
    }

    /**
     * Copies slopes.
     *
     * @param columns in the order of DL4J's parameters
     * @param copy takes them in the order of the input
     */
    public void arrange(INDArray columns, INDArray copy) {
        arrange.copy(Place.of(columns), Place.of(copy));
    }

    public void forward(INDArray input, INDArray slopes, INDArray output) {
        forward.bind(dnnl.DNNL_ARG_SRC, input)
                .bind(dnnl.DNNL_ARG_WEIGHTS, slopes)
                .bind(dnnl.DNNL_ARG_DST, output)
                .run();
    }

    /**
     * Runs the backward pass.
     *
     * @param slopes in the order of the input
     * @param slopeGradient takes the gradient of the slopes in the same order
     * @param gradient takes it in the order of DL4J's parameters
     */
    public void backward(
            INDArray input,
            INDArray slopes,
            INDArray epsilon,
            INDArray inputGradient,
            INDArray slopeGradient,
            INDArray gradient) {
        Place moved = Place.kept(context.staging().address());
        shift.bind(dnnl.DNNL_ARG_SRC, input).bind(dnnl.DNNL_ARG_DST, moved).run();
        backward.bind(dnnl.DNNL_ARG_SRC, moved)
                .bind(dnnl.DNNL_ARG_WEIGHTS, slopes)
                .bind(dnnl.DNNL_ARG_DIFF_DST, epsilon)
                .bind(dnnl.DNNL_ARG_DIFF_SRC, inputGradient)
                .bind(dnnl.DNNL_ARG_DIFF_WEIGHTS, slopeGradient)
                .run();
        giveBack.copy(Place.of(slopeGradient), Place.of(gradient));
    }

    @Override
    public void close() {
        forward.close();
        backward.close();
        shift.close();
        arrange.close();
        giveBack.close();
    }
}
