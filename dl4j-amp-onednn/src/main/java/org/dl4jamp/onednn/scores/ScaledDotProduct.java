package org.dl4jamp.onednn.scores;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;

/**
 * Attention to keys and values by scaled dot products (Vaswani et al., 2017), for one shape: {@code softmax(Q Kᵀ /
 * sqrt(headSize)) V} for each head of each example. Heads are parts of the rows of their matrices, and aren't copied.
 * Scores are made block by block, for the forward and for the backward pass.
 */
public final class ScaledDotProduct implements AutoCloseable {
    /** The scores of a block, which with their gradient are soon as large as the second cache of a core. */
    public static final long SCORES = 1L << 20;

    private final OneDnnContext context;
    private final String what;
    private final AttentionShape shape;
    private final List<ScoreBlock> blocks;
    private final List<ScoreBlock> maskedBlocks;
    private final BlockMemory memory;
    private final Map<ForwardKey, BlockKernels> forward = new HashMap<>();
    private final Map<BackwardKey, BlockKernels.Backward> backward = new HashMap<>();

    private record ForwardKey(ScoreBlock.Size size, boolean masked) {}

    private record BackwardKey(ForwardKey forward, boolean adds) {}

    /**
     * The arguments of a forward pass, each from the first number of its first head on.
     *
     * @param mask FLOAT {@code [minibatch, keys]}, added to the scores of each row; null for none
     */
    public record Operands(Slab queries, Slab keys, Slab values, Slab mask) {}

    /** The places of gradients. */
    public record Gradients(Slab queries, Slab keys, Slab values) {}

    /** @param scores how many scores a block has at most, if rows are short enough */
    public ScaledDotProduct(OneDnnContext context, String layer, AttentionShape shape, long scores) {
        this.context = context;
        this.what = layer + ": " + shape;
        this.shape = shape;
        ScoreBlock.Size largest = ScoreBlock.largest(shape, scores, Work.threads());
        this.blocks = ScoreBlock.all(shape, largest);
        this.maskedBlocks = ScoreBlock.all(shape, largest.ofOneExample());
        this.memory = new BlockMemory(context.staging(), shape, largest);
    }

    /**
     * Returns the blocks of a pass. With a mask each has a single example: oneDNN 3.11 adds the summands of several
     * examples to other rows, if there are few.
     */
    private List<ScoreBlock> blocks(Operands operands) {
        return operands.mask() == null ? blocks : maskedBlocks;
    }

    private BlockKernels kernels(ForwardKey key) {
        return forward.computeIfAbsent(
                key,
                made -> OneDnnContext.make(
                        what,
                        Work.LARGE,
                        () -> new BlockKernels(context, what, shape, key.size(), key.masked(), memory)));
    }

    private BlockKernels.Backward backwardKernels(BackwardKey key) {
        BlockKernels ofForward = kernels(key.forward());
        return backward.computeIfAbsent(
                key, made -> OneDnnContext.make(what, Work.LARGE, () -> ofForward.backward(context, what, key.adds())));
    }

    /**
     * Computes the attention.
     *
     * @param output {@code [minibatch, queries, heads, headSize]}
     */
    public void forward(Operands operands, Slab output) {
        for (ScoreBlock block : blocks(operands)) {
            kernels(new ForwardKey(block.size(), operands.mask() != null)).forward(block, operands, output);
        }
    }

    /**
     * Computes the gradients of queries, keys and values.
     *
     * @param outputGradient {@code [minibatch, queries, heads, headSize]}
     */
    public void backward(Operands operands, Slab outputGradient, Gradients gradients) {
        for (ScoreBlock block : blocks(operands)) {
            ForwardKey key = new ForwardKey(block.size(), operands.mask() != null);
            backwardKernels(new BackwardKey(key, block.adds())).run(block, operands, outputGradient, gradients);
        }
    }

    /** Computes the gradients of queries alone. */
    public void backwardQueries(Operands operands, Slab outputGradient, Slab queryGradients) {
        for (ScoreBlock block : blocks(operands)) {
            ForwardKey key = new ForwardKey(block.size(), operands.mask() != null);
            backwardKernels(new BackwardKey(key, block.adds()))
                    .runQueries(block, operands, outputGradient, queryGradients);
        }
    }

    @Override
    public void close() {
        backward.values().forEach(BlockKernels.Backward::close);
        forward.values().forEach(BlockKernels::close);
    }
}
