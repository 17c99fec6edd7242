package org.dl4jamp.onednn.output;

import java.util.Arrays;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.convolution.CnnLossLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.util.ConvolutionUtils;
import org.dl4jamp.onednn.memory.Views;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.OneDnnTwin;
import org.dl4jamp.twin.Twin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The FP32 loss of images {@code [minibatch, channels, height, width]} of any type, one for each pixel. With their
 * channels last in memory they are rows of a matrix as they are.
 */
final class CnnLossTwin extends CnnLossLayer implements Twin.ScoringOutput, OneDnnTwin {
    private static final long serialVersionUID = 1L;

    private final transient OneDnnContext context;
    private final transient RowLoss loss;

    CnnLossTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.context = context;
        this.loss = new RowLoss(context, layerConf().getLossFn(), layerConf().getActivationFn(), this::layerId);
    }

    /** Returns a row for each pixel of images that are channels-last. */
    private static INDArray rows(INDArray images) {
        INDArray turned = Views.permuted(images, 0, 2, 3, 1);
        return Views.reshaped(turned, turned.length() / images.size(1), images.size(1));
    }

    private INDArray images(INDArray rows) {
        INDArray turned = Views.reshaped(rows, input.size(0), input.size(2), input.size(3), input.size(1));
        return Views.permuted(turned, 0, 3, 1, 2);
    }

    /** Returns rows of the input in FP32, in new memory. */
    private INDArray inputRows(LayerWorkspaceMgr workspaceMgr, ArrayType place) {
        INDArray copy = Workspaces.channelsLast(workspaceMgr, place, DataType.FLOAT, input.shape());
        context.copies().copyOrAssign(input, copy);
        return rows(copy);
    }

    private INDArray labelRows(LayerWorkspaceMgr workspaceMgr, ArrayType place) {
        return rows(context.copies().channelsLast(labels, DataType.FLOAT, workspaceMgr, place));
    }

    private INDArray maskRows(LayerWorkspaceMgr workspaceMgr) {
        return ConvolutionUtils.reshapeMaskIfRequired(
                maskArray, input, CNN2DFormat.NCHW, workspaceMgr, ArrayType.FF_WORKING_MEM);
    }

    private boolean isComplete() {
        return input != null && input.rank() == 4 && labels != null && Arrays.equals(input.shape(), labels.shape());
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        if (input.rank() != 4) {
            // DL4J's layer throws.
            return super.activate(training, workspaceMgr);
        }
        return images(loss.activated(inputRows(workspaceMgr, ArrayType.ACTIVATIONS), training));
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        if (!isComplete()) {
            // DL4J's layer has a message for each case, and throws it before it computes.
            return super.backpropGradient(epsilon, workspaceMgr);
        }
        INDArray delta = loss.gradient(
                inputRows(workspaceMgr, ArrayType.BP_WORKING_MEM),
                labelRows(workspaceMgr, ArrayType.BP_WORKING_MEM),
                maskRows(workspaceMgr),
                workspaceMgr);
        INDArray next = Workspaces.channelsLast(workspaceMgr, ArrayType.ACTIVATION_GRAD, dataType, input.shape());
        context.copies().copyOrAssign(delta, rows(next));
        return new Pair<>(new DefaultGradient(), next);
    }

    @Override
    public double scoreOfBackwardPass(double fullNetworkRegScore) {
        score = loss.sum() / getInputMiniBatchSize() + fullNetworkRegScore;
        return score;
    }

    @Override
    public double computeScore(double fullNetRegTerm, boolean training, LayerWorkspaceMgr workspaceMgr) {
        if (!isComplete()) {
            return super.computeScore(fullNetRegTerm, training, workspaceMgr);
        }
        double sum = layerConf()
                .getLossFn()
                .computeScore(
                        labelRows(workspaceMgr, ArrayType.FF_WORKING_MEM),
                        inputRows(workspaceMgr, ArrayType.FF_WORKING_MEM),
                        layerConf().getActivationFn(),
                        maskRows(workspaceMgr),
                        false);
        score = sum / getInputMiniBatchSize() + fullNetRegTerm;
        return score;
    }

    @Override
    public INDArray computeScoreForExamples(double fullNetRegTerm, LayerWorkspaceMgr workspaceMgr) {
        if (!isComplete()) {
            return super.computeScoreForExamples(fullNetRegTerm, workspaceMgr);
        }
        INDArray scores = layerConf()
                .getLossFn()
                .computeScoreArray(
                        labelRows(workspaceMgr, ArrayType.FF_WORKING_MEM),
                        inputRows(workspaceMgr, ArrayType.FF_WORKING_MEM),
                        layerConf().getActivationFn(),
                        maskRows(workspaceMgr));
        INDArray sums = scores.reshape('c', input.size(0), scores.length() / input.size(0))
                .sum(true, 1)
                .addi(fullNetRegTerm);
        return workspaceMgr.leverageTo(ArrayType.ACTIVATIONS, sums);
    }

    @Override
    public void close() {
        loss.close();
    }
}
