package org.dl4jamp.onednn.pooling;

import java.util.Optional;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

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

    private static boolean isSizeOrOne(INDArray mask, INDArray input, int axis) {
        return mask.size(axis) == 1 || mask.size(axis) == input.size(axis);
    }
}
