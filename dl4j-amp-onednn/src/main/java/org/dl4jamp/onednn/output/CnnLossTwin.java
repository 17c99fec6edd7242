package org.dl4jamp.onednn.output;

import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.util.ConvolutionUtils;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The FP32 loss of images {@code [minibatch, channels, height, width]} of any type, one for each pixel. */
final class CnnLossTwin extends PositionLossTwin<CnnLossLayer> {
    private static final long serialVersionUID = 1L;

    CnnLossTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type, context, 4, ChannelAxis.SECOND, ((CnnLossLayer) conf.getLayer()).getLossFn());
    }

    @Override
    INDArray maskRows(LayerWorkspaceMgr workspaceMgr) {
        return ConvolutionUtils.reshapeMaskIfRequired(
                maskArray, input, CNN2DFormat.NCHW, workspaceMgr, ArrayType.FF_WORKING_MEM);
    }

    /** Returns them as a column. */
    @Override
    INDArray losses(double regularization, LayerWorkspaceMgr workspaceMgr) {
        return super.losses(regularization, workspaceMgr).reshape(input.size(0), 1);
    }
}
