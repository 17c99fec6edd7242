package org.dl4jamp.onednn.scores;

import java.util.ArrayList;
import java.util.List;

/**
 * Scores that are in memory at the same time: complete rows, of some queries, for some heads of some examples. A
 * softmax needs complete rows, so the numbers of the output don't depend on the size of a block. With blocks of queries
 * alone the memory for scores grows with the number of keys, and not with its square (Rabe and Staats, 2021).
 *
 * @param example the first one
 * @param head the first one
 * @param row the first query
 */
record ScoreBlock(long example, long head, long row, Size size) {
    /** The rows of a long sequence are a multiple of this, which products prefer. */
    private static final long ROWS = 16;

    /** The number of examples, heads and queries of a block. */
    record Size(long examples, long heads, long rows) {
        Size ofOneExample() {
            return new Size(1, heads, rows);
        }

        long scores(long keys) {
            return examples * heads * rows * keys;
        }
    }

    /**
     * Returns the size of the largest block.
     *
     * <p>Each thread computes other heads, so that it finds the scores of the product before in its own cache.
     *
     * @param most how many scores there may be, if rows are short enough
     */
    static Size largest(AttentionShape shape, long most, int threads) {
        long ofHead = shape.queries() * shape.keys();
        long ofThreads = Math.min(shape.heads(), threads);
        if (ofHead * ofThreads <= most) {
            long heads = most / ofHead;
            long examples = takesExamples(shape) ? heads : 1;
            return heads >= shape.heads()
                    ? new Size(evenly(shape.minibatch(), examples), shape.heads(), shape.queries())
                    : new Size(1, evenly(shape.heads(), heads), shape.queries());
        }
        long rows = Math.max(1, most / (shape.keys() * ofThreads) / ROWS) * ROWS;
        long even = (evenly(shape.queries(), rows) + ROWS - 1) / ROWS * ROWS;
        return new Size(1, ofThreads, Math.min(even, shape.queries()));
    }

    /**
     * Returns whether a block may have several examples.
     *
     * <p>Small products of several heads of several examples are wrong in oneDNN 3.11, and so are some of single rows
     * or columns.
     */
    private static boolean takesExamples(AttentionShape shape) {
        return shape.heads() == 1 && shape.headSize() > 1 && shape.keys() > 1 && shape.queries() > 1;
    }

    /** Returns the largest of the parts of a whole, which are as few as a limit allows, and as equal. */
    private static long evenly(long whole, long limit) {
        long parts = (whole + limit - 1) / limit;
        return (whole + parts - 1) / parts;
    }

    /** Returns all blocks, those of the same keys one after the other. */
    static List<ScoreBlock> all(AttentionShape shape, Size largest) {
        List<ScoreBlock> blocks = new ArrayList<>();
        for (long example = 0; example < shape.minibatch(); example += largest.examples()) {
            for (long head = 0; head < shape.heads(); head += largest.heads()) {
                for (long row = 0; row < shape.queries(); row += largest.rows()) {
                    Size size = new Size(
                            Math.min(largest.examples(), shape.minibatch() - example),
                            Math.min(largest.heads(), shape.heads() - head),
                            Math.min(largest.rows(), shape.queries() - row));
                    blocks.add(new ScoreBlock(example, head, row, size));
                }
            }
        }
        return List.copyOf(blocks);
    }

    private long offset(AttentionShape shape, AttentionShape.Strides strides, long firstRow) {
        return example * strides.example() + firstRow * strides.row() + head * shape.headSize();
    }

    /** Returns where its numbers begin among queries, or among their gradient. */
    long ofQueries(AttentionShape shape) {
        return offset(shape, shape.ofQueries(), row);
    }

    /** Returns where its numbers begin among keys or values, or among their gradient. */
    long ofKeys(AttentionShape shape) {
        return offset(shape, shape.ofKeys(), 0);
    }

    /** Returns where its numbers begin in the output, or in its gradient. */
    long ofOutput(AttentionShape shape) {
        return offset(shape, shape.ofOutput(), row);
    }

    /** Returns where its numbers begin among the summands that mask keys. */
    long ofMask(AttentionShape shape) {
        return example * shape.keys();
    }

    /** Returns whether gradients of keys and values are added to those of the blocks of queries before. */
    boolean adds() {
        return row > 0;
    }

    /** Returns whether it's the last one of its keys. */
    boolean isLast(AttentionShape shape) {
        return row + size.rows() == shape.queries();
    }
}
