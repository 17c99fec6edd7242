package org.dl4jamp.onednn.output;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.Cnn3DLossLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.util.ConvolutionUtils;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The FP32 loss of volumes of any type and of either format, one for each voxel. */
final class Cnn3dLossTwin extends PositionLossTwin<Cnn3DLossLayer> {
    private static final long serialVersionUID = 1L;

    Cnn3dLossTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        this(conf, type, context, (Cnn3DLossLayer) conf.getLayer());
    }

    private Cnn3dLossTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context, Cnn3DLossLayer layer) {
        super(conf, type, context, 5, ChannelAxis.of(layer.getDataFormat()), layer.getLossFn());
    }

    @Override
    INDArray maskRows(LayerWorkspaceMgr workspaceMgr) {
        return ConvolutionUtils.reshapeCnn3dMask(
                layerConf().getDataFormat(), maskArray, getLabels(), workspaceMgr, ArrayType.FF_WORKING_MEM);
    }

    /** Returns them for volumes of one channel: of several DL4J expects a loss for each, and throws. */
    @Override
    INDArray losses(double regularization, LayerWorkspaceMgr workspaceMgr) {
        ChannelAxis channels = ChannelAxis.of(layerConf().getDataFormat());
        return channels.toSecond(input).size(1) == 1
                ? super.losses(regularization, workspaceMgr)
                : dl4j().computeScoreForExamples(regularization, workspaceMgr);
    }
}
