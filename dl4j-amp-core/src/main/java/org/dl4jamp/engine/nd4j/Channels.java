package org.dl4jamp.engine.nd4j;

import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.impl.broadcast.BroadcastSubOp;
import org.nd4j.linalg.api.ops.impl.scalar.ScalarSubtraction;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Activations as a matrix, for arithmetic with one number for each channel. Where channels come last it has a column
 * for each; otherwise a row for each channel of each example. On CUDA, ND4J's arithmetic with a number for each row is
 * four times faster than its broadcast over several axes.
 *
 * @param last whether channels are the last axis
 * @param examples size of the first axis
 * @param channels number of channels
 * @param count numbers of each channel
 */
record Channels(boolean last, long examples, long channels, long count) {
    /** Returns how to look at arrays of this shape: {@code [minibatch, channels]}, or images. */
    static Channels of(INDArray array, int channelAxis) {
        long channels = array.size(channelAxis);
        return new Channels(channelAxis == array.rank() - 1, array.size(0), channels, array.length() / channels);
    }

    /**
     * Returns a view of an array, which has no gaps: {@code [count, channels]}, or {@code [examples * channels, ..]}.
     */
    INDArray matrix(INDArray array) {
        long rows = last ? count : examples * channels;
        return array.reshape('c', rows, array.length() / rows);
    }

    void add(INDArray matrix, INDArray perChannel) {
        if (last) {
            matrix.addiRowVector(perChannel);
        } else {
            matrix.addiColumnVector(column(perChannel));
        }
    }

    void multiply(INDArray matrix, INDArray perChannel) {
        if (last) {
            matrix.muliRowVector(perChannel);
        } else {
            matrix.muliColumnVector(column(perChannel));
        }
    }

    /** Computes {@code result = matrix - perChannel}; the result may be the matrix itself. */
    void subtract(INDArray matrix, INDArray perChannel, INDArray result) {
        if (last) {
            Nd4j.getExecutioner().exec(new BroadcastSubOp(matrix, perChannel, result, 1));
        } else {
            ScalarSubtraction rowByRow = new ScalarSubtraction(matrix, column(perChannel), result, 0);
            rowByRow.setDimension(1);
            Nd4j.getExecutioner().exec(rowByRow);
        }
    }

    /** Returns the sums of the channels, a new array {@code [channels]}. */
    INDArray sum(INDArray matrix) {
        return last ? matrix.sum(0) : ofChannels(matrix.sum(1));
    }

    /** Returns the sums of the squares of the channels, a new array {@code [channels]}. */
    INDArray squares(INDArray matrix) {
        INDArray norms = matrix.norm2(last ? 0 : 1);
        INDArray squares = norms.muli(norms);
        return last ? squares : ofChannels(squares);
    }

    /** Adds up the numbers of all examples. */
    private INDArray ofChannels(INDArray ofRows) {
        return ofRows.reshape(examples, channels).sum(0);
    }

    /** Returns a number for each row, {@code [examples * channels, 1]}. */
    private INDArray column(INDArray perChannel) {
        INDArray row = perChannel.reshape(1, channels);
        return (examples == 1 ? row : row.repmat(examples, 1)).reshape(examples * channels, 1);
    }
}
