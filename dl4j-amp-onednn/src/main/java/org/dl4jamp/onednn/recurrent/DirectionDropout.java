package org.dl4jamp.onednn.recurrent;

import static org.nd4j.linalg.indexing.NDArrayIndex.all;
import static org.nd4j.linalg.indexing.NDArrayIndex.point;

import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.dropout.Dropout;
import org.deeplearning4j.nn.conf.dropout.IDropout;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.util.TimeSeriesUtils;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.common.base.Preconditions;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The input dropouts of a bidirectional layer's two directions as one dropout. Its result has both directions' inputs,
 * {@code [minibatch, nIn, time, 2]}, the second of them reversed in time. DL4J's layer draws for the forward direction
 * first, and draws for the backward direction by the positions of the reversed sequences.
 */
final class DirectionDropout implements IDropout {
    private static final long serialVersionUID = 1L;

    private final IDropout forwards;
    private final IDropout backwards;
    private final RNNFormat format;
    private final transient OneDnnContext context;

    private DirectionDropout(IDropout forwards, IDropout backwards, RNNFormat format, OneDnnContext context) {
        this.forwards = forwards;
        this.backwards = backwards;
        this.format = format;
        this.context = context;
    }

    /** Returns the dropout of a layer; null if its directions have none. */
    static IDropout of(Bidirectional layer, OneDnnContext context) {
        return isIn(layer)
                ? new DirectionDropout(
                        layer.getFwd().getIDropout(), layer.getBwd().getIDropout(), layer.getRNNDataFormat(), context)
                : null;
    }

    /**
     * Returns whether one of a layer's directions drops numbers: in imports from Keras each layer's dropout keeps all.
     */
    static boolean drops(Bidirectional layer) {
        return Stream.of(layer.getFwd().getIDropout(), layer.getBwd().getIDropout())
                .anyMatch(each -> each != null
                        && !(each instanceof Dropout dropout && dropout.getPSchedule() == null && dropout.getP() == 1));
    }

    /** Returns whether one of a layer's directions has dropout. */
    static boolean isIn(Bidirectional layer) {
        return layer.getFwd().getIDropout() != null || layer.getBwd().getIDropout() != null;
    }

    /** Makes room for two sequences {@code [minibatch, size, time]}, in memory time step by time step. */
    static INDArray room(LayerWorkspaceMgr workspaceMgr, ArrayType place, DataType type, long... sequences) {
        return Workspaces.dense(workspaceMgr, place, type, 2, sequences[2], sequences[0], sequences[1])
                .permute(2, 3, 1, 0);
    }

    /** Returns the sequences of one direction, {@code [minibatch, size, time]}. */
    static INDArray direction(INDArray both, int direction) {
        return both.get(all(), all(), all(), point(direction));
    }

    @Override
    public INDArray applyDropout(
            INDArray given, INDArray place, int iteration, int epoch, LayerWorkspaceMgr workspaceMgr) {
        Preconditions.checkState(given.rank() == 3, "3D input expected to RNN layer expected, got " + given.rank());
        INDArray input = featuresFirst(given);
        INDArray result = featuresFirst(place);
        INDArray both = room(workspaceMgr, ArrayType.INPUT, input.dataType(), input.shape());
        INDArray reversed = TimeSeriesUtils.reverseTimeSeries(input, workspaceMgr, ArrayType.INPUT);
        INDArray one = forwards == null ? input : forwards.applyDropout(input, result, iteration, epoch, workspaceMgr);
        context.copies().copyOrAssign(one, direction(both, 0));
        INDArray other = backwards == null
                ? reversed
                : backwards.applyDropout(reversed, reversed, iteration, epoch, workspaceMgr);
        context.copies().copyOrAssign(other, direction(both, 1));
        return both;
    }

    private INDArray featuresFirst(INDArray array) {
        return format == RNNFormat.NWC ? array.permute(0, 2, 1) : array;
    }

    /** Returns the sum of the two directions' gradients, in the first one's place. */
    @Override
    public INDArray backprop(INDArray gradient, INDArray place, int iteration, int epoch) {
        if (gradient.rank() == 3) {
            // The forward pass wasn't for training.
            return gradient;
        }
        INDArray one = backprop(forwards, direction(gradient, 0), iteration, epoch);
        INDArray other = backprop(backwards, direction(gradient, 1), iteration, epoch);
        long steps = one.size(2);
        for (long time = 0; time < steps; time++) {
            one.get(all(), all(), point(time)).addi(other.get(all(), all(), point(steps - 1 - time)));
        }
        return featuresFirst(one);
    }

    private static INDArray backprop(IDropout dropout, INDArray gradient, int iteration, int epoch) {
        return dropout == null ? gradient : dropout.backprop(gradient, gradient, iteration, epoch);
    }

    @Override
    public void clear() {
        if (forwards != null) {
            forwards.clear();
        }
        if (backwards != null) {
            backwards.clear();
        }
    }

    @Override
    public IDropout clone() {
        return new DirectionDropout(
                forwards == null ? null : forwards.clone(),
                backwards == null ? null : backwards.clone(),
                format,
                context);
    }
}
