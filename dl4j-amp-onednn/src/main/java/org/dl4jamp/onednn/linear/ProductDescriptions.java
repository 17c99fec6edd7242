package org.dl4jamp.onednn.linear;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.post_ops;
import org.bytedeco.dnnl.primitive_attr;
import org.bytedeco.dnnl.primitive_desc;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.pooling.SideBySide;
import org.dl4jamp.onednn.pooling.WindowGeometry;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.buffer.DataType;

/**
 * oneDNN's descriptions of the primitives of a layer that multiplies by weights, for one shape of its input. All of it
 * is to be used within {@link OneDnnContext#make}, and made anew for each primitive, which takes little time and no
 * memory.
 *
 * @param samples the positions of the input that are multiplied
 */
record ProductDescriptions<F extends primitive_desc>(
        ProductPrimitives<F> primitives, ProductKernels.Task task, Layout samples) {
    /** The products of one layer. */
    enum Pass {
        /** With the sum and the activation function, if there are any. */
        WHOLE("", true),
        /** As WHOLE, with the output's own numbers of before as the summand. */
        IN_PLACE(" and a sum in place", true),
        /** Without the activation function. */
        PLAIN(" before a sum", true),
        /** Without the activation function, in FP32. */
        IN_FLOAT(" in FP32", true),
        BACKWARD_DATA(", backward to its input", false),
        BACKWARD_WEIGHTS(", backward to its weights", false);

        /** Follows the layer's and the primitive's name in error messages. */
        final String suffix;

        final boolean isForward;

        Pass(String suffix, boolean isForward) {
            this.suffix = suffix;
            this.isForward = isForward;
        }
    }

    /** The argument of a primitive that is added to its products. */
    static final int SUMMAND = dnnl.DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE | dnnl.DNNL_ARG_SRC_1;

    /** Returns the descriptions from which a pass is made. */
    ProductDescriptions<?> making(Pass pass) {
        return pass == Pass.BACKWARD_WEIGHTS ? new ProductDescriptions<>(primitives.gradients(), task, samples) : this;
    }

    /** Returns whether a forward pass makes each row of its output of the same row of the input alone. */
    boolean isByRows(Pass pass) {
        boolean readsOutput = pass == Pass.IN_PLACE || (pass == Pass.WHOLE && task.sum());
        return pass.isForward
                && !readsOutput
                && primitives.areByRows(task.input())
                && samples.equals(task.input())
                && hasRows(samples)
                && hasRows(outputOf(pass));
    }

    private static boolean hasRows(Layout layout) {
        return layout.equals(Layout.channelsLast(layout.type(), layout.shape()));
    }

    /** Returns how many rows there are: positions of all examples. */
    long rows() {
        return task.input().length() / task.input().shape()[1];
    }

    /** Returns the same for fewer rows. */
    ProductDescriptions<F> ofRows(long rows) {
        Layout input = ofRows(task.input(), rows);
        ProductKernels.Task part = new ProductKernels.Task(
                task.layer(),
                input,
                task.weights(),
                task.hasBias(),
                ofRows(task.output(), rows),
                task.sum(),
                task.function());
        return new ProductDescriptions<>(primitives, part, input);
    }

    private static Layout ofRows(Layout all, long rows) {
        long[] shape = new long[all.shape().length];
        Arrays.fill(shape, 1);
        shape[shape.length == 2 ? 0 : shape.length - 1] = rows;
        shape[1] = all.shape()[1];
        return Layout.channelsLast(all.type(), shape);
    }

    /** Returns the windows of which a forward pass makes the positions of its output; empty if it has none. */
    Optional<WindowGeometry> windows(Pass pass) {
        return hasRows(samples) && hasRows(outputOf(pass)) ? primitives.windows() : Optional.empty();
    }

    /** Returns the same for every so many-th position of the output. A pointwise one reads these positions alone. */
    ProductDescriptions<F> every(List<Long> steps) {
        WindowGeometry part = primitives.windows().orElseThrow().every(steps);
        Layout input = part.isPointwise() ? with(samples, part.output()) : samples;
        ProductKernels.Task some = new ProductKernels.Task(
                task.layer(),
                input,
                task.weights(),
                task.hasBias(),
                with(task.output(), part.output()),
                task.sum(),
                task.function());
        return new ProductDescriptions<>(primitives.over(part), some, input);
    }

    private static Layout with(Layout all, long... extents) {
        long[] shape = all.shape();
        return Layout.channelsLast(all.type(), Workspaces.shape(shape[0], shape[1], extents));
    }

    private memory.desc input() {
        return primitives.seenSamples(samples).descriptor();
    }

    private memory.desc output() {
        return output(Pass.WHOLE);
    }

    private memory.desc output(Pass pass) {
        return primitives.seen(outputOf(pass)).descriptor();
    }

    /** Returns the layout of what a forward pass returns. */
    Layout outputOf(Pass pass) {
        return pass == Pass.IN_FLOAT
                ? Layout.channelsLast(DataType.FLOAT, task.output().shape())
                : task.output();
    }

    /** Returns the copy of the output that a forward pass writes; empty if it's written in place. */
    Optional<SideBySide> written(OneDnnContext context, Pass pass) {
        return primitives.written(context, task.layer(), outputOf(pass), task.input());
    }

    private memory.desc bias() {
        return task.hasBias()
                ? Layout.dense(DataType.FLOAT, task.output().shape()[1]).descriptor()
                : new memory.desc();
    }

    /** Returns the layout of the network's weights, and of their gradients. */
    memory.desc network() {
        return networks().descriptor();
    }

    private Layout networks() {
        return primitives.seenWeights(task.weights());
    }

    private memory.desc wanted(DataType type) {
        return primitives.weights(type, networks());
    }

    /**
     * Describes the product with the sum and the activation function, if there are any: in the order of the weights
     * that all others have to take.
     */
    F forward() {
        return forward(wanted(task.input().type()));
    }

    private F forward(memory.desc weights) {
        post_ops sum = new post_ops();
        if (task.sum()) {
            sum.append_binary(dnnl.algorithm.binary_add, output());
        }
        return forward(weights, sum);
    }

    private F inPlace(memory.desc weights) {
        post_ops sum = new post_ops();
        sum.append_sum();
        return forward(weights, sum);
    }

    private F forward(memory.desc weights, post_ops more) {
        primitive_attr attributes = OneDnnContext.attributes();
        if (task.function() != null) {
            more.append_eltwise(
                    task.function().function(),
                    task.function().alpha(),
                    task.function().beta());
        }
        attributes.set_post_ops(more);
        return primitives.forward(input(), weights, bias(), output(), attributes);
    }

    private F plain(memory.desc weights, memory.desc output) {
        return primitives.forward(input(), weights, bias(), output, OneDnnContext.attributes());
    }

    /** Describes a forward pass that reads weights in an order. */
    primitive_desc of(Pass pass, memory.desc weights) {
        return switch (pass) {
            case WHOLE -> forward(weights);
            case IN_PLACE -> inPlace(weights);
            default -> plain(weights, output(pass));
        };
    }

    primitive_desc of(Pass pass) {
        return switch (pass) {
            case WHOLE, IN_PLACE, PLAIN, IN_FLOAT -> of(pass, forward().weights_desc());
            case BACKWARD_DATA ->
                primitives.backwardData(
                        input(), wanted(task.input().type()), output(), forward(), OneDnnContext.attributes());
            case BACKWARD_WEIGHTS ->
                primitives.backwardWeights(
                        input(), wanted(DataType.FLOAT), bias(), output(), forward(), OneDnnContext.attributes());
        };
    }
}
