package org.dl4jamp.onednn.pooling;

import java.util.Optional;
import java.util.stream.IntStream;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.BooleanIndexing;
import org.nd4j.linalg.indexing.conditions.Conditions;

/**
 * A mask of the time steps of sequences or of the pixels of images.
 *
 * @param positions FP32, with a number for each position, one channel, and otherwise the input's shape
 * @param counts FP32, {@code [minibatch, 1]}, what DL4J divides averages by
 */
record PositionMask(INDArray positions, INDArray counts) {
    /**
     * Returns a mask of DL4J's: {@code [minibatch, steps]}, or {@code [minibatch, 1, height, width]} with 1 in place of
     * height or width where the mask is the same along it. DL4J counts such rows or columns once. Returns empty for any
     * other mask.
     *
     * @param input its channels as the second axis
     */
    static Optional<PositionMask> of(INDArray mask, INDArray input) {
        boolean ofSteps =
                input.rank() == 3 && mask.rank() == 2 && mask.size(0) == input.size(0) && mask.size(1) == input.size(2);
        boolean ofPixels = input.rank() == 4
                && mask.rank() == 4
                && mask.size(0) == input.size(0)
                && mask.size(1) == 1
                && isSizeOrOne(mask, input, 2)
                && isSizeOrOne(mask, input, 3);
        if (!ofSteps && !ofPixels) {
            return Optional.empty();
        }
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            INDArray numbers = mask.castTo(DataType.FLOAT);
            INDArray counts = ofSteps ? numbers.sum(1) : numbers.sum(1, 2, 3);
            long[] shape = input.shape().clone();
            shape[1] = 1;
            INDArray positions = ofSteps
                    ? numbers.dup('c').reshape('c', shape)
                    : numbers.broadcast(Nd4j.createUninitialized(DataType.FLOAT, shape, 'c'));
            return Optional.of(new PositionMask(positions, counts.reshape(mask.size(0), 1)));
        }
    }

    /** Returns what DL4J adds before it takes maxima: minus infinity where the mask is 0, otherwise 1 less the mask. */
    INDArray offsets() {
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            INDArray offsets = positions.rsub(1.0);
            BooleanIndexing.replaceWhere(offsets, Double.NEGATIVE_INFINITY, Conditions.equals(1.0));
            return offsets;
        }
    }

    /** Returns the examples of which the mask hides every position. */
    IntStream hiddenExamples() {
        INDArray each = positions.reshape('c', positions.size(0), -1);
        return IntStream.range(0, (int) each.size(0))
                .filter(example -> each.getRow(example).amaxNumber().doubleValue() == 0);
    }

    private static boolean isSizeOrOne(INDArray mask, INDArray input, int axis) {
        return mask.size(axis) == 1 || mask.size(axis) == input.size(axis);
    }
}
