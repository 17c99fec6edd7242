package org.dl4jamp.onednn.output;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The FP32 loss of rows {@code [minibatch, outputs]} of any type. Its functions are given arrays of their own: DL4J's
 * layer lets them overwrite its input, of which it computes the score after that.
 */
final class RowLossTwin extends LossTwin<LossLayer> {
    private static final long serialVersionUID = 1L;

    private final transient OneDnnContext context;
    private final transient RowLoss loss;

    RowLossTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.context = context;
        this.loss = new RowLoss(context, layerConf().getLossFn(), layerConf().getActivationFn(), this::layerId);
    }

    @Override
    boolean takesInput() {
        return input != null;
    }

    @Override
    boolean isComplete() {
        return input != null && getLabels() != null;
    }

    private INDArray copy(LayerWorkspaceMgr workspaceMgr, ArrayType place) {
        INDArray copy = Workspaces.dense(workspaceMgr, place, DataType.FLOAT, input.shape());
        context.copies().copyOrAssign(input, copy);
        return copy;
    }

    /** Returns the labels as matrix, which DL4J's layer makes of those with more axes in its own way. */
    private INDArray labels2d(LayerWorkspaceMgr workspaceMgr, ArrayType place) {
        INDArray labels = getLabels();
        INDArray matrix = labels.rank() > 2 ? labels.reshape(labels.size(2), labels.size(1)) : labels;
        return context.copies().channelsLast(matrix, DataType.FLOAT, workspaceMgr, place);
    }

    @Override
    INDArray output(boolean training, LayerWorkspaceMgr workspaceMgr) {
        INDArray values = loss.activated(copy(workspaceMgr, ArrayType.ACTIVATIONS), training);
        if (maskArray != null) {
            values.muliColumnVector(maskArray);
        }
        return workspaceMgr.leverageTo(ArrayType.ACTIVATIONS, values);
    }

    @Override
    INDArray gradient(LayerWorkspaceMgr workspaceMgr) {
        INDArray rows = copy(workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray labels = labels2d(workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray delta = loss.gradient(rows, labels, maskArray, workspaceMgr);
        INDArray next = Workspaces.dense(workspaceMgr, ArrayType.ACTIVATION_GRAD, dataType, input.shape());
        context.copies().copyOrAssign(delta, next);
        return next;
    }

    @Override
    public boolean scoresBackwardPass() {
        return super.scoresBackwardPass() && loss.sumsLosses();
    }

    @Override
    double sumOfBackwardPass() {
        return loss.sum();
    }

    @Override
    double sum(LayerWorkspaceMgr workspaceMgr) {
        INDArray labels = labels2d(workspaceMgr, ArrayType.FF_WORKING_MEM);
        return loss.sum(copy(workspaceMgr, ArrayType.FF_WORKING_MEM), labels, maskArray);
    }

    @Override
    INDArray losses(double regularization, LayerWorkspaceMgr workspaceMgr) {
        INDArray labels = labels2d(workspaceMgr, ArrayType.FF_WORKING_MEM);
        INDArray losses = loss.losses(copy(workspaceMgr, ArrayType.FF_WORKING_MEM), labels, maskArray);
        return workspaceMgr.leverageTo(ArrayType.ACTIVATIONS, losses.addi(regularization));
    }

    @Override
    public void close() {
        loss.close();
    }
}
