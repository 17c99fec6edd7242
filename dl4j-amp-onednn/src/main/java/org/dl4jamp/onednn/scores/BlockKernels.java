package org.dl4jamp.onednn.scores;

import java.util.stream.IntStream;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.softmax_backward;
import org.bytedeco.dnnl.softmax_forward;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.dl4jamp.onednn.scores.ScaledDotProduct.Gradients;
import org.dl4jamp.onednn.scores.ScaledDotProduct.Operands;
import org.nd4j.linalg.api.buffer.DataType;

/**
 * The primitives of blocks of one size. Scores, softmax and its derivative are FP32. Probabilities, and the gradient of
 * scores, are rounded where they enter products.
 */
final class BlockKernels implements AutoCloseable {
    private final AttentionShape shape;
    private final ScoreBlock.Size size;
    private final Operand queries;
    private final Operand keys;
    private final Operand output;
    private final Layout scores;
    private final Layout probabilities;
    private final BlockMemory memory;
    private final Kernel score;
    private final Kernel normalize;
    private final Kernel combine;

    /** An argument of products for all heads of a block. */
    private record Operand(ScoreBlock.Size size, long rows, AttentionShape.Strides strides, long headSize) {
        Layout of(DataType type) {
            long[] sizes = {size.examples(), size.heads(), rows, headSize};
            return batches(Layout.strided(type, sizes, strides.example(), headSize, strides.row(), 1));
        }

        Layout turned(DataType type) {
            return BlockKernels.turned(of(type));
        }
    }

    /** Returns the same memory without axes of a single example or a single head, see {@link ScoreBlock#largest}. */
    private static Layout batches(Layout block) {
        long[] sizes = block.shape();
        int[] axes = IntStream.range(0, sizes.length)
                .filter(axis -> axis >= sizes.length - 2 || sizes[axis] > 1)
                .toArray();
        return block.permuted(axes);
    }

    /** Returns the matrices of a block with rows and columns exchanged. */
    private static Layout turned(Layout block) {
        int[] axes = IntStream.range(0, block.shape().length).toArray();
        int last = axes.length - 1;
        axes[last]--;
        axes[last - 1]++;
        return block.permuted(axes);
    }

    /** Makes those of a forward pass, to be called within {@link OneDnnContext#make}. */
    BlockKernels(
            OneDnnContext context,
            String what,
            AttentionShape shape,
            ScoreBlock.Size size,
            boolean masked,
            BlockMemory memory) {
        this.shape = shape;
        this.size = size;
        this.memory = memory;
        long headSize = shape.headSize();
        queries = new Operand(size, size.rows(), shape.ofQueries(), headSize);
        keys = new Operand(size, shape.keys(), shape.ofKeys(), headSize);
        output = new Operand(size, size.rows(), shape.ofOutput(), headSize);
        long[] block = {size.examples(), size.heads(), size.rows(), shape.keys()};
        scores = batches(Layout.dense(DataType.FLOAT, block));
        probabilities = batches(Layout.dense(shape.type(), block));
        BlockProduct product =
                new BlockProduct(queries.of(shape.type()), keys.turned(shape.type()), scores).times(shape.scale());
        long[] ofMask = scores.shape();
        ofMask[ofMask.length - 2] = 1;
        if (size.heads() > 1) {
            ofMask[ofMask.length - 3] = 1;
        }
        Layout mask = Layout.dense(DataType.FLOAT, ofMask);
        score = (masked ? product.plus(mask) : product).kernel(context, what);
        normalize = softmax(context, what, scores, probabilities);
        combine = new BlockProduct(probabilities, keys.of(shape.type()), output.of(shape.type())).kernel(context, what);
    }

    private static softmax_forward.primitive_desc softmax(Layout from, Layout to) {
        return new softmax_forward.primitive_desc(
                OneDnnContext.cpu(),
                dnnl.prop_kind.forward_training,
                dnnl.algorithm.softmax_accurate,
                rows(from),
                rows(to),
                1,
                OneDnnContext.attributes(),
                false);
    }

    private static memory.desc rows(Layout block) {
        long[] sizes = block.shape();
        long columns = sizes[sizes.length - 1];
        return Layout.dense(block.type(), block.length() / columns, columns).descriptor();
    }

    private static Kernel softmax(OneDnnContext context, String what, Layout from, Layout to) {
        return Work.ofNumbers(from.length()).withItsThreads(() -> new Kernel(context, what, softmax(from, to)));
    }

    private void score(ScoreBlock block, Operands operands) {
        score.bind(dnnl.DNNL_ARG_SRC, operands.queries().plus(block.ofQueries(shape)))
                .bind(dnnl.DNNL_ARG_WEIGHTS, operands.keys().plus(block.ofKeys(shape)))
                .bind(dnnl.DNNL_ARG_DST, memory.scores());
        if (operands.mask() != null) {
            score.bind(BlockProduct.SUMMAND, operands.mask().plus(block.ofMask(shape)));
        }
        score.run();
    }

    /** Computes a block of the output. */
    void forward(ScoreBlock block, Operands operands, Slab target) {
        score(block, operands);
        normalize
                .bind(dnnl.DNNL_ARG_SRC, memory.scores())
                .bind(dnnl.DNNL_ARG_DST, memory.probabilities())
                .run();
        multiply(
                combine,
                memory.probabilities(),
                operands.values().plus(block.ofKeys(shape)).place(),
                target.plus(block.ofOutput(shape)).place());
    }

    private static void multiply(Kernel product, Place one, Place other, Place target) {
        product.bind(dnnl.DNNL_ARG_SRC, one)
                .bind(dnnl.DNNL_ARG_WEIGHTS, other)
                .bind(dnnl.DNNL_ARG_DST, target)
                .run();
    }

    /** Makes those of a backward pass, to be called within {@link OneDnnContext#make}. */
    Backward backward(OneDnnContext context, String what, boolean adds) {
        return new Backward(context, what, adds);
    }

    /** The primitives of a backward pass, which computes the probabilities again: to keep them takes more memory. */
    final class Backward implements AutoCloseable {
        private final boolean rounds = shape.type() != DataType.FLOAT;
        private final boolean addsUp = size.rows() < shape.queries() && shape.gradientType() != DataType.FLOAT;
        private final Kernel normalizeInFloat;
        private final Kernel round;
        private final Kernel probabilityGradient;
        private final Kernel scoreGradient;
        private final Kernel queryGradient;
        private final Kernel keyGradient;
        private final Kernel valueGradient;
        private final Kernel roundSums;

        private Backward(OneDnnContext context, String what, boolean adds) {
            DataType type = shape.type();
            Layout sums = batches(
                    Layout.dense(DataType.FLOAT, size.examples(), size.heads(), shape.keys(), shape.headSize()));
            Layout sum = addsUp ? sums : keys.of(shape.gradientType());
            Layout turned = turned(probabilities);
            normalizeInFloat = rounds ? softmax(context, what, scores, scores) : normalize;
            round = rounds ? context.copies().make(what, scores.descriptor(), probabilities.descriptor()) : null;
            probabilityGradient = new BlockProduct(output.of(type), keys.turned(type), scores)
                    .times(shape.gradientFactor())
                    .kernel(context, what);
            scoreGradient = Work.ofNumbers(scores.length())
                    .withItsThreads(() -> new Kernel(
                            context,
                            what,
                            new softmax_backward.primitive_desc(
                                    OneDnnContext.cpu(),
                                    dnnl.algorithm.softmax_accurate,
                                    rows(probabilities),
                                    rows(scores),
                                    rows(scores),
                                    1,
                                    softmax(scores, scores),
                                    OneDnnContext.attributes(),
                                    false)));
            queryGradient = new BlockProduct(probabilities, keys.of(type), queries.of(shape.gradientType()))
                    .times(shape.scale())
                    .kernel(context, what);
            keyGradient = new BlockProduct(turned, queries.of(type), sum)
                    .times(shape.scale())
                    .adding(adds)
                    .kernel(context, what);
            valueGradient = new BlockProduct(turned, output.of(type), sum)
                    .times(shape.gradientFactor())
                    .adding(adds)
                    .kernel(context, what);
            roundSums = addsUp
                    ? context.copies()
                            .make(
                                    what,
                                    sums.descriptor(),
                                    keys.of(shape.gradientType()).descriptor())
                    : null;
        }

        private Place scoreGradients() {
            return rounds ? memory.probabilities() : memory.gradient();
        }

        /** Computes the probabilities again, in FP32. */
        private void normalize(ScoreBlock block, Operands operands) {
            score(block, operands);
            normalizeInFloat
                    .bind(dnnl.DNNL_ARG_SRC, memory.scores())
                    .bind(dnnl.DNNL_ARG_DST, memory.scores())
                    .run();
        }

        /** Computes the gradient of the scores, and that of queries. */
        private void queries(ScoreBlock block, Operands operands, Slab outputGradient, Slab queryGradients) {
            multiply(
                    probabilityGradient,
                    outputGradient.plus(block.ofOutput(shape)).place(),
                    operands.values().plus(block.ofKeys(shape)).place(),
                    memory.gradient());
            scoreGradient
                    .bind(dnnl.DNNL_ARG_DST, memory.scores())
                    .bind(dnnl.DNNL_ARG_DIFF_DST, memory.gradient())
                    .bind(dnnl.DNNL_ARG_DIFF_SRC, scoreGradients())
                    .run();
            multiply(
                    queryGradient,
                    scoreGradients(),
                    operands.keys().plus(block.ofKeys(shape)).place(),
                    queryGradients.plus(block.ofQueries(shape)).place());
        }

        /** Computes a block of the gradients of queries alone. */
        void runQueries(ScoreBlock block, Operands operands, Slab outputGradient, Slab queryGradients) {
            normalize(block, operands);
            queries(block, operands, outputGradient, queryGradients);
        }

        /** Computes a block of the gradients of queries, and its part of those of keys and values. */
        void run(ScoreBlock block, Operands operands, Slab outputGradient, Gradients gradients) {
            Place keyTarget = gradients.keys().plus(block.ofKeys(shape)).place();
            Place valueTarget = gradients.values().plus(block.ofKeys(shape)).place();
            normalize(block, operands);
            if (rounds) {
                round.copy(memory.scores(), memory.probabilities());
            }
            multiply(
                    valueGradient,
                    rounds ? memory.probabilities() : memory.scores(),
                    outputGradient.plus(block.ofOutput(shape)).place(),
                    addsUp ? memory.valueGradients() : valueTarget);
            queries(block, operands, outputGradient, gradients.queries());
            multiply(
                    keyGradient,
                    scoreGradients(),
                    operands.queries().plus(block.ofQueries(shape)).place(),
                    addsUp ? memory.keyGradients() : keyTarget);
            if (addsUp && block.isLast(shape)) {
                roundSums.copy(memory.keyGradients(), keyTarget);
                roundSums.copy(memory.valueGradients(), valueTarget);
            }
        }

        @Override
        public void close() {
            if (rounds) {
                normalizeInFloat.close();
                round.close();
            }
            probabilityGradient.close();
            scoreGradient.close();
            queryGradient.close();
            keyGradient.close();
            valueGradient.close();
            if (addsUp) {
                roundSums.close();
            }
        }
    }

    @Override
    public void close() {
        score.close();
        normalize.close();
        combine.close();
    }
}
