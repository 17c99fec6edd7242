package org.dl4jamp.onednn.scores;

import org.dl4jamp.onednn.memory.AlignedMemory;
import org.dl4jamp.onednn.memory.Place;
import org.nd4j.linalg.api.buffer.DataType;

/** The places of a block's intermediate results, in memory that all layers of a network use in turn. */
final class BlockMemory {
    private final AlignedMemory memory;
    private final long values;
    private final long scores;
    private final long rounded;
    private final long gradient;

    /** @param size of the largest block, for which the memory has to be large enough */
    BlockMemory(AlignedMemory memory, AttentionShape shape, ScoreBlock.Size size) {
        this.memory = memory;
        boolean rounds = shape.type() != DataType.FLOAT;
        long inFloat = AlignedMemory.bytes(size.scores(shape.keys()) * Float.BYTES);
        long sums = AlignedMemory.bytes(size.examples() * size.heads() * shape.keys() * shape.headSize() * Float.BYTES);
        boolean addsUp = size.rows() < shape.queries() && shape.gradientType() != DataType.FLOAT;
        values = addsUp ? sums : 0;
        scores = addsUp ? 2 * sums : 0;
        rounded = rounds ? scores + inFloat : scores;
        gradient = rounds
                ? rounded
                        + AlignedMemory.bytes(
                                size.scores(shape.keys()) * shape.type().width())
                : scores + inFloat;
        memory.reserve(gradient + inFloat);
    }

    private Place at(long offset) {
        return Place.kept(memory.address() + offset);
    }

    /** Returns the place for the sum of the gradients of keys. */
    Place keyGradients() {
        return at(0);
    }

    /** Returns the place for the sum of the gradients of values. */
    Place valueGradients() {
        return at(values);
    }

    /** Returns the place for scores, and for the probabilities in FP32. */
    Place scores() {
        return at(scores);
    }

    /** Returns the place for probabilities in the type of products, and later for the gradient of the scores. */
    Place probabilities() {
        return at(rounded);
    }

    /** Returns the place for the gradient of the probabilities, in FP32. */
    Place gradient() {
        return at(gradient);
    }
}
