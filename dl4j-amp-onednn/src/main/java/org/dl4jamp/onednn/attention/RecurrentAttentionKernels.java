package org.dl4jamp.onednn.attention;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.dnnl.global.dnnl;
import org.deeplearning4j.nn.conf.layers.RecurrentAttentionLayer;
import org.dl4jamp.dl4j.RecurrentAttentionFunctions;
import org.dl4jamp.onednn.activation.CellFunction;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.memory.Resources;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.scores.AttentionShape;
import org.dl4jamp.onednn.scores.AttentionShape.Strides;
import org.dl4jamp.onednn.scores.BlockProduct;
import org.dl4jamp.onednn.scores.ScaledDotProduct;
import org.dl4jamp.onednn.twin.TimeStepKernels;
import org.dl4jamp.onednn.weights.WeightCopy;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The primitives of a recurrent attention layer for one shape of its input. In memory the time steps follow each other,
 * each of them {@code [minibatch, size]}; only keys and values, and their gradients, follow each other by example.
 * Products with the input, and the gradients of all weights, are made for all time steps at once.
 */
final class RecurrentAttentionKernels implements AutoCloseable {
    final SequenceShape shape;
    final long width;
    final TimeStepKernels steps;
    final CellFunction function;
    /** Attention of one time step. */
    final ScaledDotProduct attention;
    /**
     * Attention of all time steps but the first, whose queries are known in the backward pass; null if there is one.
     */
    final ScaledDotProduct attentionOfAll;

    /** Null for a layer without projections. */
    final RecurrentProjection projection;
    /** The type of the gradients of queries, keys and values: FLOAT if they're added to others as they are. */
    final DataType gradientType;

    final Kernel input;
    final Kernel recurrent;
    final Kernel recurrentBackward;
    final Kernel inputGradient;
    final Kernel inputWeights;
    final Kernel biasGradient;
    /** The gradient of the recurrent weights, which all time steps but the first have; null if there is one. */
    final Kernel recurrentWeights;

    final Kernel round;
    final INDArray ones;
    private final List<AutoCloseable> kernels = new ArrayList<>();
    private final OneDnnContext context;
    private final String what;

    /**
     * Makes it, to be called within {@link OneDnnContext#make}.
     *
     * @param parameters how many there are
     * @param weights memory for a copy of all parameters in the type of products
     */
    RecurrentAttentionKernels(
            OneDnnContext context,
            String layer,
            RecurrentAttentionLayer conf,
            DataType type,
            SequenceShape shape,
            long parameters,
            WeightCopy weights) {
        this.context = context;
        this.shape = shape;
        this.what = layer + ": recurrent attention of " + shape;
        long minibatch = shape.minibatch();
        long rows = shape.rows();
        long nIn = shape.nIn();
        long units = shape.units();
        width = RecurrentAttentionWeights.width(conf);
        gradientType = conf.isProjectInput() ? type : DataType.FLOAT;
        weights.reserve(parameters * type.width());
        round = context.copies()
                .make(
                        what,
                        Layout.dense(DataType.FLOAT, parameters).descriptor(),
                        Layout.dense(type, parameters).descriptor());
        kernels.add(round);
        steps = TimeStepKernels.make(context, layer, type, shape);
        function = CellFunction.of(RecurrentAttentionFunctions.of(conf).orElseThrow(), context, layer, shape);
        attention = new ScaledDotProduct(context, layer, attention(conf, type, 1), ScaledDotProduct.SCORES);
        attentionOfAll = shape.steps() == 1
                ? null
                : new ScaledDotProduct(
                        context, layer, attention(conf, type, shape.steps() - 1), ScaledDotProduct.SCORES);

        Layout x = Layout.dense(type, rows, nIn);
        Layout z = Layout.dense(type, rows, units);
        Layout w = Layout.dense(type, nIn, units);
        Layout square = Layout.dense(type, units, units);
        Layout step = Layout.dense(type, minibatch, units);
        Layout bias = Layout.dense(DataType.FLOAT, 1, units);
        BlockProduct sums = new BlockProduct(x, w, z.as(DataType.FLOAT));
        input = add(conf.isHasBias() ? sums.plus(bias) : sums);
        recurrent = add(new BlockProduct(step, square, step.as(DataType.FLOAT)).adding(true));
        recurrentBackward = add(new BlockProduct(step, turned(square), step));
        inputGradient = add(new BlockProduct(z, turned(w), x.as(DataType.FLOAT)));
        inputWeights = add(new BlockProduct(turned(x), z, w.as(DataType.FLOAT)));
        biasGradient = add(new BlockProduct(Layout.dense(type, 1, rows), z, bias));
        if (shape.steps() > 1) {
            Layout later = Layout.dense(type, rows - minibatch, units);
            recurrentWeights = add(new BlockProduct(turned(later), later, square.as(DataType.FLOAT)));
        } else {
            recurrentWeights = null;
        }
        projection = conf.isProjectInput() ? new RecurrentProjection(context, what, type, shape, width) : null;
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            ones = Nd4j.ones(type, rows);
        }
    }

    private AttentionShape attention(RecurrentAttentionLayer conf, DataType type, long queries) {
        Strides ofHeads = Strides.dense(width, queries);
        return new AttentionShape(
                type,
                gradientType,
                1,
                shape.minibatch(),
                conf.isProjectInput() ? conf.getNHeads() : 1,
                conf.isProjectInput() ? conf.getHeadSize() : width,
                queries,
                shape.steps(),
                ofHeads,
                Strides.dense(conf.isProjectInput() ? 2 * width : width, shape.steps()),
                ofHeads);
    }

    private static Layout turned(Layout matrix) {
        return matrix.permuted(1, 0);
    }

    private Kernel add(BlockProduct product) {
        Kernel kernel = product.kernel(context, what);
        kernels.add(kernel);
        return kernel;
    }

    static void run(Kernel product, Place one, Place other, Place target) {
        product.bind(dnnl.DNNL_ARG_SRC, one)
                .bind(dnnl.DNNL_ARG_WEIGHTS, other)
                .bind(dnnl.DNNL_ARG_DST, target)
                .run();
    }

    static void run(Kernel product, Slab one, Place other, Slab target) {
        run(product, one.place(), other, target.place());
    }

    @Override
    public void close() {
        kernels.forEach(Resources::close);
        if (projection != null) {
            projection.close();
        }
        steps.close();
        function.close();
        attention.close();
        if (attentionOfAll != null) {
            attentionOfAll.close();
        }
    }
}
