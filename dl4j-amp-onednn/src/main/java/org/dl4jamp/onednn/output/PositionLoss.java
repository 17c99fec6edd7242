package org.dl4jamp.onednn.output;

import java.util.Arrays;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Views;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.lossfunctions.ILossFunction;

/**
 * The FP32 loss of sequences, images or volumes of any type, one for each position. Their channels are the second axis
 * here; last in memory, they are rows of a matrix as they are, by example and then position.
 */
final class PositionLoss implements AutoCloseable {
    private final OneDnnContext context;
    private final ILossFunction function;
    private final IActivation activation;
    private final RowLoss loss;

    PositionLoss(OneDnnContext context, ILossFunction function, IActivation activation, Supplier<String> layer) {
        this.context = context;
        this.function = function;
        this.activation = activation;
        this.loss = new RowLoss(context, function, activation, layer);
    }

    /** Returns whether there are labels for each position of an input; class numbers are of a single channel. */
    static boolean isComplete(INDArray input, INDArray labels, int rank) {
        return input != null
                && input.rank() == rank
                && labels != null
                && labels.rank() == rank
                && IntStream.range(0, rank).allMatch(axis -> axis == 1 || input.size(axis) == labels.size(axis));
    }

    /** Returns a row for each position of an array that is channels-last. */
    private static INDArray rows(INDArray channelsLast) {
        INDArray turned = Views.permuted(channelsLast, Layout.axesOfChannelsLast(channelsLast.rank()));
        return Views.reshaped(turned, turned.length() / channelsLast.size(1), channelsLast.size(1));
    }

    /** Reverses {@link #rows}. */
    private static INDArray positions(INDArray rows, long... shape) {
        int rank = shape.length;
        long[] turned = new long[rank];
        Arrays.setAll(turned, axis -> axis == 0 ? shape[0] : axis == rank - 1 ? shape[1] : shape[axis + 1]);
        int[] axes = new int[rank];
        Arrays.setAll(axes, axis -> axis == 0 ? 0 : axis == 1 ? rank - 1 : axis - 1);
        return Views.permuted(Views.reshaped(rows, turned), axes);
    }

    /** Returns rows of an array in FP32, in new memory. */
    private INDArray ownRows(INDArray array, LayerWorkspaceMgr workspaceMgr, ArrayType place) {
        return rows(ownCopy(array, workspaceMgr, place));
    }

    private INDArray ownCopy(INDArray array, LayerWorkspaceMgr workspaceMgr, ArrayType place) {
        INDArray copy = Workspaces.channelsLast(workspaceMgr, place, DataType.FLOAT, array.shape());
        context.copies().copyOrAssign(array, copy);
        return copy;
    }

    private INDArray labelRows(INDArray labels, LayerWorkspaceMgr workspaceMgr, ArrayType place) {
        return rows(context.copies().channelsLast(labels, DataType.FLOAT, workspaceMgr, place));
    }

    /** Returns the input with the activation function applied. */
    INDArray activated(INDArray input, boolean training, LayerWorkspaceMgr workspaceMgr) {
        INDArray copy = ownCopy(input, workspaceMgr, ArrayType.ACTIVATIONS);
        INDArray values = loss.activated(rows(copy), training);
        return positions(values, input.shape());
    }

    /**
     * Computes loss and gradient.
     *
     * @param mask in the order of the rows; null if there is none
     * @param type that of the gradient
     */
    INDArray gradient(INDArray input, INDArray labels, INDArray mask, DataType type, LayerWorkspaceMgr workspaceMgr) {
        INDArray delta = loss.gradient(
                ownRows(input, workspaceMgr, ArrayType.BP_WORKING_MEM),
                labelRows(labels, workspaceMgr, ArrayType.BP_WORKING_MEM),
                mask,
                workspaceMgr);
        INDArray next = Workspaces.channelsLast(workspaceMgr, ArrayType.ACTIVATION_GRAD, type, input.shape());
        context.copies().copyOrAssign(delta, rows(next));
        return next;
    }

    /** Returns the sum of the losses of all positions in the last backward pass. */
    double sum() {
        return loss.sum();
    }

    /** Returns the sum of the losses of all positions. */
    double sum(INDArray input, INDArray labels, INDArray mask, LayerWorkspaceMgr workspaceMgr) {
        return function.computeScore(
                labelRows(labels, workspaceMgr, ArrayType.FF_WORKING_MEM),
                ownRows(input, workspaceMgr, ArrayType.FF_WORKING_MEM),
                activation,
                mask,
                false);
    }

    /** Returns the loss of each position. */
    INDArray losses(INDArray input, INDArray labels, INDArray mask, LayerWorkspaceMgr workspaceMgr) {
        return function.computeScoreArray(
                labelRows(labels, workspaceMgr, ArrayType.FF_WORKING_MEM),
                ownRows(input, workspaceMgr, ArrayType.FF_WORKING_MEM),
                activation,
                mask);
    }

    @Override
    public void close() {
        loss.close();
    }
}
