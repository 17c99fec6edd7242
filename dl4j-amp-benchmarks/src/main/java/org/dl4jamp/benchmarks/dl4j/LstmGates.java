package org.dl4jamp.benchmarks.dl4j;

import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

/**
 * DL4J keeps the gates of an LSTM side by side as cell, forget, output, input; PyTorch and oneDNN keep them one above
 * the other as input, forget, cell, output.
 */
final class LstmGates {
    private static final int[] DL4J_BLOCKS = {3, 1, 0, 2};

    private LstmGates() {}

    /**
     * Reorders the gates.
     *
     * @param dl4j weights [in, 4 * out], or a bias [4 * out]
     * @return [4 * out, in], or [4 * out, 1]
     */
    static INDArray reorder(INDArray dl4j) {
        INDArray rows = dl4j.rank() == 1 ? dl4j.reshape(1, dl4j.length()) : dl4j;
        long out = rows.size(1) / DL4J_BLOCKS.length;
        INDArray[] gates = new INDArray[DL4J_BLOCKS.length];
        for (int gate = 0; gate < gates.length; gate++) {
            long from = DL4J_BLOCKS[gate] * out;
            gates[gate] = rows.get(NDArrayIndex.all(), NDArrayIndex.interval(from, from + out))
                    .dup('c')
                    .transpose()
                    .dup('c');
        }
        return Nd4j.concat(0, gates);
    }
}
