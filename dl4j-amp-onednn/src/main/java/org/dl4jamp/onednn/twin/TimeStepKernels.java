package org.dl4jamp.onednn.twin;

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
import org.dl4jamp.onednn.primitive.Copies;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.nd4j.linalg.api.buffer.DataType;

/**
 * The elementwise operations of a recurrent layer in one time step, on {@code [minibatch, units]}: in FP32, with
 * factors of the layer's type where a method says so.
 */
public final class TimeStepKernels implements AutoCloseable {
    private final Kernel multiply;
    private final Kernel multiplyAdd;
    private final Kernel multiplyByKept;
    private final Kernel multiplyAddKept;
    private final Kernel delta;
    private final Kernel deltas;
    private final Kernel mask;
    private final Kernel round;
    private final Kernel arrangeDeltas;

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
        Layout kept = step.as(type);
        multiply = multiply(context, what, step, step, false);
        multiplyAdd = multiply(context, what, step, step, true);
        multiplyByKept = multiply(context, what, step, kept, false);
        multiplyAddKept = multiply(context, what, step, kept, true);
        delta = multiply(context, what, kept, step, false);
        deltas = multiply(
                context,
                what,
                Layout.dense(type, gates, minibatch, units),
                Layout.dense(DataType.FLOAT, 1, minibatch, units),
                false);
        mask = multiply(context, what, step, Layout.dense(DataType.FLOAT, minibatch, 1), false);
        Copies copies = context.copies();
        round = copies.make(
                what, step.descriptor(), Layout.dense(type, minibatch, units).descriptor());
        arrangeDeltas = gates == 1
                ? round
                : copies.make(
                        what,
                        Layout.dense(type, gates, minibatch, units).descriptor(),
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

    /** Computes {@code product = one * factor} with a factor of the layer's type. */
    public void multiplyByKept(Slab one, Slab factor, Slab product) {
        run(multiplyByKept, one, factor, product);
    }

    /** Computes {@code sum += one * factor} with a factor of the layer's type. */
    public void multiplyAddKept(Slab one, Slab factor, Slab sum) {
        run(multiplyAddKept, one, factor, sum);
    }

    /**
     * Computes the gradient of a gate's sums in the layer's type.
     *
     * @param factor of the layer's type
     */
    public void delta(Slab factor, Slab error, Slab product) {
        run(delta, factor, error, product);
    }

    /**
     * Computes the gradients of all gates' sums in the layer's type.
     *
     * @param factors of the layer's type, {@code [gates, minibatch, units]}
     */
    public void deltas(Slab factors, Slab error, Slab products) {
        run(deltas, factors, error, products);
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
     * Copies gradients of sums into the order of products. A layer with one gate has them in FP32, others in its type.
     *
     * @param from {@code [gates, minibatch, units]}
     * @param to of the layer's type, {@code [minibatch, gates, units]}
     */
    public void arrangeDeltas(Slab from, Slab to) {
        arrangeDeltas.copy(from.place(), to.place());
    }

    @Override
    public void close() {
        Stream.of(multiply, multiplyAdd, multiplyByKept, multiplyAddKept, delta, deltas, mask, round, arrangeDeltas)
                .distinct()
                .forEach(Resources::close);
    }
}
