package org.dl4jamp.onednn.primitive;

import java.util.stream.Stream;
import org.bytedeco.dnnl.binary;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.post_ops;
import org.bytedeco.dnnl.primitive_attr;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Resources;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.memory.Slab;
import org.nd4j.linalg.api.buffer.DataType;

/** The elementwise operations of a recurrent layer in one time step: in FP32, on {@code [minibatch, units]}. */
public final class TimeStepKernels implements AutoCloseable {
    private final Kernel multiply;
    private final Kernel multiplyAdd;
    private final Kernel multiplyRowsAdd;
    private final Kernel mask;
    private final Kernel round;
    private final Kernel roundDeltas;

    public static TimeStepKernels make(OneDnnContext context, String layer, DataType type, SequenceShape shape) {
        String what = layer + ": time steps in " + type + " for " + shape;
        return OneDnnContext.make(
                what, Work.ofNumbers(shape.block()), () -> new TimeStepKernels(context, what, type, shape));
    }

    private TimeStepKernels(OneDnnContext context, String what, DataType type, SequenceShape shape) {
        long minibatch = shape.minibatch();
        long units = shape.units();
        int gates = shape.gates();
        Layout step = Layout.dense(DataType.FLOAT, minibatch, units);
        multiply = multiply(context, what, step, step, false);
        multiplyAdd = multiply(context, what, step, step, true);
        multiplyRowsAdd = multiply(context, what, step, Layout.dense(DataType.FLOAT, 1, units), true);
        mask = multiply(context, what, step, Layout.dense(DataType.FLOAT, minibatch, 1), false);
        Copies copies = context.copies();
        round = copies.make(
                what, step.descriptor(), Layout.dense(type, minibatch, units).descriptor());
        roundDeltas = gates == 1
                ? round
                : copies.make(
                        what,
                        Layout.dense(DataType.FLOAT, gates, minibatch, units).descriptor(),
                        Layout.strided(type, new long[] {gates, minibatch, units}, units, gates * units, 1)
                                .descriptor());
    }

    private static Kernel multiply(OneDnnContext context, String what, Layout step, Layout factor, boolean adds) {
        memory.desc array = step.descriptor();
        memory.desc other = factor.descriptor();
        primitive_attr attributes = OneDnnContext.attributes();
        if (adds) {
            post_ops sum = new post_ops();
            sum.append_sum();
            attributes.set_post_ops(sum);
        }
        binary.primitive_desc description = new binary.primitive_desc(
                OneDnnContext.cpu(), dnnl.algorithm.binary_mul, array, other, array, attributes, false);
        return new Kernel(context, what, description);
    }

    /** Computes {@code product = one * other}; the product may overwrite a factor. */
    public void multiply(Slab one, Slab other, Slab product) {
        run(multiply, one, other, product);
    }

    /** Computes {@code sum += one * other}. */
    public void multiplyAdd(Slab one, Slab other, Slab sum) {
        run(multiplyAdd, one, other, sum);
    }

    /**
     * Computes {@code sum += rows * factors}.
     *
     * @param factors one for each column
     */
    public void multiplyRowsAdd(Slab rows, Slab factors, Slab sum) {
        run(multiplyRowsAdd, rows, factors, sum);
    }

    /**
     * Multiplies in place.
     *
     * @param factors one for each row
     */
    public void mask(Slab array, Slab factors) {
        run(mask, array, factors, array);
    }

    private static void run(Kernel kernel, Slab one, Slab other, Slab target) {
        kernel.bind(dnnl.DNNL_ARG_SRC_0, one)
                .bind(dnnl.DNNL_ARG_SRC_1, other)
                .bind(dnnl.DNNL_ARG_DST, target)
                .run();
    }

    /** Copies into the layer's type. */
    public void round(Slab from, Slab to) {
        round.copy(from.place(), to.place());
    }

    /**
     * Copies into the layer's type.
     *
     * @param from {@code [gates, minibatch, units]}
     * @param to {@code [minibatch, gates, units]}
     */
    public void roundDeltas(Slab from, Slab to) {
        roundDeltas.copy(from.place(), to.place());
    }

    @Override
    public void close() {
        Stream.of(multiply, multiplyAdd, multiplyRowsAdd, mask, round, roundDeltas)
                .distinct()
                .forEach(Resources::close);
    }
}
