package org.dl4jamp.engine.nd4j;

import static org.nd4j.linalg.indexing.NDArrayIndex.all;
import static org.nd4j.linalg.indexing.NDArrayIndex.interval;
import static org.nd4j.linalg.indexing.NDArrayIndex.point;

import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The cell of an LSTM without peepholes. Columns of weights and bias belong, a quarter each, to the cell input, the
 * forget gate, the output gate and the input gate. This is DL4J's order; it calls the last one "input modulation gate".
 *
 * <pre>
 * i, f, o, g = x W + h[t-1] R + b
 * c[t] = gate(f) * c[t-1] + gate(g) * activation(i)
 * h[t] = gate(o) * activation(c[t])
 * </pre>
 *
 * @param inputWeights HALF {@code [nIn, 4 * n]}
 * @param recurrentWeights HALF {@code [n, 4 * n]}
 * @param bias HALF {@code [1, 4 * n]}
 * @param activation the layer's activation function
 * @param gate the activation function of the gates, which works element by element
 * @param products multiplies matrices
 */
record LstmCell(
        INDArray inputWeights,
        INDArray recurrentWeights,
        INDArray bias,
        IActivation activation,
        IActivation gate,
        Products products) {
    static final int INPUT = 0;
    static final int FORGET = 1;
    static final int OUTPUT = 2;
    static final int INPUT_GATE = 3;

    long units() {
        return recurrentWeights.size(0);
    }

    /** Returns one of the four blocks of columns, a view. */
    INDArray block(INDArray columns, int which) {
        return columns.get(all(), interval(which * units(), (which + 1) * units()));
    }

    /** Returns the blocks of the three gates, which lie next to each other. */
    INDArray gates(INDArray columns) {
        return columns.get(all(), interval(FORGET * units(), 4 * units()));
    }

    /** Returns one time step of {@code [minibatch, size, time]}. */
    static INDArray step(INDArray sequence, long time) {
        return sequence.get(all(), all(), point(time));
    }

    /** Returns one time step of {@code [minibatch, time, size]}. */
    static INDArray row(INDArray sequence, long time) {
        return sequence.get(all(), point(time), all());
    }

    /**
     * Returns all time steps below each other, for one product over all of them: an 'f'-ordered {@code [minibatch,
     * time, size]} as a matrix.
     */
    static INDArray rows(INDArray sequence) {
        return sequence.reshape('f', sequence.size(0) * sequence.size(1), sequence.size(2));
    }
}
