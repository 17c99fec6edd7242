package org.dl4jamp.onednn.output;

import java.util.Optional;
import java.util.function.Supplier;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.activations.IActivation;
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

    /** Applies the activation function to rows, which it may overwrite. */
    INDArray activated(INDArray rows, boolean training) {
        if (softmax.isEmpty()) {
            return activation.getActivation(rows, training);
        }
        softmax.get().run(rows);
        return rows;
    }

    /**
     * Computes gradient and loss.
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
        // Loss functions may overwrite their input.
        INDArray copy = Workspaces.dense(workspaceMgr, ArrayType.BP_WORKING_MEM, DataType.FLOAT, rows.shape());
        context.copies().copy(rows, copy);
        sum = function.computeScore(labels, copy, activation, mask, false);
        return function.computeGradient(labels, rows, activation, mask);
    }

    /** Returns the sum of the losses of all rows in the last backward pass. */
    double sum() {
        return sum;
    }

    @Override
    public void close() {
        softmax.ifPresent(Softmax::close);
    }
}
