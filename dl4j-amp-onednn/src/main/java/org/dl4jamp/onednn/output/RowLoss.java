package org.dl4jamp.onednn.output;

import java.util.Optional;
import java.util.function.Supplier;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationRReLU;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.lossfunctions.ILossFunction;

/**
 * The loss of FP32 rows {@code [rows, outputs]} and its gradient: {@link SoftmaxCrossEntropy} or ND4J's. Both are
 * computed in the backward pass.
 */
final class RowLoss implements AutoCloseable {
    private final OneDnnContext context;
    private final ILossFunction function;
    private final IActivation activation;
    private final Optional<Softmax> softmax;
    private final Optional<SoftmaxCrossEntropy> crossEntropy;
    private double sum;

    RowLoss(OneDnnContext context, ILossFunction function, IActivation activation, Supplier<String> layer) {
        this.context = context;
        this.function = function;
        this.activation = activation;
        this.softmax = Softmax.of(context, activation, layer);
        this.crossEntropy = softmax.flatMap(probabilities -> SoftmaxCrossEntropy.of(function, probabilities));
    }

    /** Applies the activation function to rows, or other arrays, which it may overwrite. */
    INDArray activated(INDArray rows, boolean training) {
        if (softmax.isEmpty() || rows.rank() != 2) {
            return activation.getActivation(rows, training);
        }
        softmax.get().run(rows);
        return rows;
    }

    /**
     * Returns whether {@link #gradient} sums the losses, too. RReLU draws random numbers anew for the score in DL4J,
     * and does so here.
     */
    boolean sumsLosses() {
        return !(activation instanceof ActivationRReLU);
    }

    /**
     * Computes the gradient, and then the loss, as DL4J's layers do.
     *
     * @param rows before the activation function; they are lost
     * @param labels in the order of the rows
     * @param mask in the order of the rows; null if there is none
     */
    INDArray gradient(INDArray rows, INDArray labels, INDArray mask, LayerWorkspaceMgr workspaceMgr) {
        if (crossEntropy.isPresent() && mask == null && SoftmaxCrossEntropy.takes(labels, rows)) {
            sum = crossEntropy.get().backward(rows, labels);
            return rows;
        }
        if (!sumsLosses()) {
            return function.computeGradient(labels, rows, activation, mask);
        }
        // Loss functions may overwrite their input.
        INDArray copy = Workspaces.dense(workspaceMgr, ArrayType.BP_WORKING_MEM, DataType.FLOAT, rows.shape());
        context.copies().copy(rows, copy);
        INDArray gradient = function.computeGradient(labels, rows, activation, mask);
        sum = sum(copy, labels, mask);
        return gradient;
    }

    /** Returns the sum of the losses of all rows in the last backward pass. */
    double sum() {
        return sum;
    }

    /** Returns the sum of the losses of rows, which are lost. */
    double sum(INDArray rows, INDArray labels, INDArray mask) {
        return function.computeScore(labels, rows, activation, mask, false);
    }

    /** Returns the loss of each row; the rows are lost. */
    INDArray losses(INDArray rows, INDArray labels, INDArray mask) {
        return function.computeScoreArray(labels, rows, activation, mask);
    }

    @Override
    public void close() {
        softmax.ifPresent(Softmax::close);
    }
}
