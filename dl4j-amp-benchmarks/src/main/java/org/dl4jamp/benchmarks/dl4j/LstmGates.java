package org.dl4jamp.benchmarks.dl4j;

import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

/**
 * DL4J keeps the gates of an LSTM side by side as cell, forget, output, input; PyTorch and oneDNN keep them one above
 * the other as input, forget, cell, output. Behind its recurrent weights a GravesLSTM keeps its peepholes as forget,
 * output, input; oneDNN keeps them as input, forget, output.
 */
final class LstmGates {
    private static final int[] DL4J_BLOCKS = {3, 1, 0, 2};
    private static final int[] DL4J_PEEPHOLES = {2, 0, 1};

    private LstmGates() {}

    /**
     * Reorders the gates.
     *
     * @param dl4j weights [in, 4 * out], or a bias [4 * out]
     * @return [4 * out, in], or [4 * out, 1]
     */
    static INDArray reorder(INDArray dl4j) {
        INDArray rows = dl4j.rank() == 1 ? dl4j.reshape(1, dl4j.length()) : dl4j;
        return blocks(rows, 0, rows.size(1) / DL4J_BLOCKS.length, DL4J_BLOCKS);
    }

    /** Returns the recurrent weights alone of those with peepholes, [out, 4 * out + 3]. */
    static INDArray withoutPeepholes(INDArray dl4j) {
        return columns(dl4j, 0, DL4J_BLOCKS.length * dl4j.size(0));
    }

    /**
     * Reorders the peepholes.
     *
     * @param dl4j recurrent weights with peepholes [out, 4 * out + 3]
     * @return [3, out]
     */
    static INDArray peepholes(INDArray dl4j) {
        return blocks(dl4j, DL4J_BLOCKS.length * dl4j.size(0), 1, DL4J_PEEPHOLES);
    }

    private static INDArray blocks(INDArray rows, long from, long width, int[] order) {
        INDArray[] blocks = new INDArray[order.length];
        for (int block = 0; block < blocks.length; block++) {
            blocks[block] = columns(rows, from + order[block] * width, width)
                    .dup('c')
                    .transpose()
                    .dup('c');
        }
        return Nd4j.concat(0, blocks);
    }

    private static INDArray columns(INDArray rows, long from, long count) {
        return rows.get(NDArrayIndex.all(), NDArrayIndex.interval(from, from + count));
    }
}
