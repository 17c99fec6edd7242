package org.dl4jamp.onednn.output;

import org.deeplearning4j.nn.api.MaskState;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.RnnLossLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.util.TimeSeriesUtils;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The FP32 loss of sequences {@code [minibatch, channels, time]} of any type, one for each time step. */
final class RnnLossTwin extends PositionLossTwin<RnnLossLayer> {
    private static final long serialVersionUID = 1L;

    RnnLossTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type, context, 3, ChannelAxis.SECOND, ((RnnLossLayer) conf.getLayer()).getLossFn());
    }

    /** Returns the mask by example and then time; DL4J has it by time first, or has made rows of it already. */
    @Override
    INDArray maskRows(LayerWorkspaceMgr workspaceMgr) {
        if (maskArray == null) {
            return null;
        }
        INDArray byTime = maskArray.rank() == 3
                ? TimeSeriesUtils.reshapePerOutputTimeSeriesMaskTo2d(maskArray, workspaceMgr, ArrayType.FF_WORKING_MEM)
                : TimeSeriesUtils.reshapeTimeSeriesMaskToVector(maskArray, workspaceMgr, ArrayType.FF_WORKING_MEM);
        return byTime.dup('c')
                .reshape('c', input.size(2), input.size(0), byTime.size(1))
                .permute(1, 0, 2)
                .dup('c')
                .reshape('c', byTime.shape());
    }

    @Override
    boolean isComplete() {
        return super.isComplete() && (maskArray == null || maskArray.length() % (input.size(0) * input.size(2)) == 0);
    }

    /** Makes rows of a mask, as DL4J's layer does, which keeps that of the last batch if there is none. */
    @Override
    public Pair<INDArray, MaskState> feedForwardMaskArray(INDArray mask, MaskState state, int minibatchSize) {
        if (mask != null) {
            maskArray = TimeSeriesUtils.reshapeTimeSeriesMaskToVector(
                    mask, LayerWorkspaceMgr.noWorkspaces(), ArrayType.INPUT);
            maskState = state;
        }
        return null;
    }
}
