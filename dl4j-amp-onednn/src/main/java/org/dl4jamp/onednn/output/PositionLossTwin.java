package org.dl4jamp.onednn.output;

import java.util.Arrays;
import java.util.stream.IntStream;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.FeedForwardLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Views;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.lossfunctions.ILossFunction;

/**
 * The FP32 loss of sequences, images or volumes of any type, one for each position. With their channels last in memory
 * they are rows of a matrix as they are, by example and then position.
 *
 * @param <L> the layer's configuration
 */
abstract class PositionLossTwin<L extends FeedForwardLayer> extends LossTwin<L> {
    private static final long serialVersionUID = 1L;

    private final transient OneDnnContext context;
    private final transient int rank;
    private final transient ChannelAxis channels;
    private final transient RowLoss loss;

    /** @param rank the number of axes of the input */
    PositionLossTwin(
            NeuralNetConfiguration conf,
            DataType type,
            OneDnnContext context,
            int rank,
            ChannelAxis channels,
            ILossFunction function) {
        super(conf, type);
        this.context = context;
        this.rank = rank;
        this.channels = channels;
        this.loss = new RowLoss(context, function, layerConf().getActivationFn(), this::layerId);
    }

    /** Returns the mask in the order of the rows; null if there is none. */
    abstract INDArray maskRows(LayerWorkspaceMgr workspaceMgr);

    @Override
    final boolean takesInput() {
        return input != null && input.rank() == rank;
    }

    @Override
    boolean isComplete() {
        return takesInput() && getLabels() != null && getLabels().rank() == rank && hasLabelsForEachPosition();
    }

    /** Returns whether there are labels for each position of the input; class numbers are of a single channel. */
    private boolean hasLabelsForEachPosition() {
        INDArray positions = channels.toSecond(input);
        INDArray targets = channels.toSecond(getLabels());
        return IntStream.range(0, rank).allMatch(axis -> axis == 1 || positions.size(axis) == targets.size(axis));
    }

    /** Returns a row for each position of an array that is channels-last. */
    private static INDArray rows(INDArray channelsLast) {
        INDArray turned = Views.permuted(channelsLast, Layout.axesOfChannelsLast(channelsLast.rank()));
        return Views.reshaped(turned, turned.length() / channelsLast.size(1), channelsLast.size(1));
    }

    /** Reverses {@link #rows}, and returns an array with the axes of the input. */
    private INDArray positions(INDArray rows) {
        long[] shape = channels.toSecond(input).shape();
        long[] turned = new long[rank];
        Arrays.setAll(turned, axis -> axis == 0 ? shape[0] : axis == rank - 1 ? shape[1] : shape[axis + 1]);
        int[] axes = new int[rank];
        Arrays.setAll(axes, axis -> axis == 0 ? 0 : axis == 1 ? rank - 1 : axis - 1);
        return channels.fromSecond(Views.permuted(Views.reshaped(rows, turned), axes));
    }

    /** Returns rows of the input in FP32, in new memory. */
    private INDArray inputRows(LayerWorkspaceMgr workspaceMgr, ArrayType place) {
        INDArray positions = channels.toSecond(input);
        INDArray copy = Workspaces.channelsLast(workspaceMgr, place, DataType.FLOAT, positions.shape());
        context.copies().copyOrAssign(positions, copy);
        return rows(copy);
    }

    private INDArray labelRows(LayerWorkspaceMgr workspaceMgr, ArrayType place) {
        INDArray targets = channels.toSecond(getLabels());
        return rows(context.copies().channelsLast(targets, DataType.FLOAT, workspaceMgr, place));
    }

    @Override
    final INDArray output(boolean training, LayerWorkspaceMgr workspaceMgr) {
        return positions(loss.activated(inputRows(workspaceMgr, ArrayType.ACTIVATIONS), training));
    }

    @Override
    final INDArray gradient(LayerWorkspaceMgr workspaceMgr) {
        INDArray delta = loss.gradient(
                inputRows(workspaceMgr, ArrayType.BP_WORKING_MEM),
                labelRows(workspaceMgr, ArrayType.BP_WORKING_MEM),
                maskRows(workspaceMgr),
                workspaceMgr);
        INDArray next = Workspaces.channelsLast(
                workspaceMgr,
                ArrayType.ACTIVATION_GRAD,
                dataType,
                channels.toSecond(input).shape());
        context.copies().copyOrAssign(delta, rows(next));
        return channels.fromSecond(next);
    }

    @Override
    public final boolean scoresBackwardPass() {
        return super.scoresBackwardPass() && loss.sumsLosses();
    }

    @Override
    final double sumOfBackwardPass() {
        return loss.sum();
    }

    @Override
    final double sum(LayerWorkspaceMgr workspaceMgr) {
        INDArray labels = labelRows(workspaceMgr, ArrayType.FF_WORKING_MEM);
        return loss.sum(inputRows(workspaceMgr, ArrayType.FF_WORKING_MEM), labels, maskRows(workspaceMgr));
    }

    /** Returns the loss of each example, from which DL4J's layers make arrays of different shapes. */
    @Override
    INDArray losses(double regularization, LayerWorkspaceMgr workspaceMgr) {
        INDArray labels = labelRows(workspaceMgr, ArrayType.FF_WORKING_MEM);
        INDArray losses =
                loss.losses(inputRows(workspaceMgr, ArrayType.FF_WORKING_MEM), labels, maskRows(workspaceMgr));
        INDArray sums = losses.reshape('c', input.size(0), losses.length() / input.size(0))
                .sum(1)
                .addi(regularization);
        return workspaceMgr.leverageTo(ArrayType.ACTIVATIONS, sums);
    }

    @Override
    public final void close() {
        loss.close();
    }
}
