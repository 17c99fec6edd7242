package org.dl4jamp.onednn.output;

import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.convolution.CnnLossLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.util.ConvolutionUtils;
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

    private final transient PositionLoss loss;

    CnnLossTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.loss =
                new PositionLoss(context, layerConf().getLossFn(), layerConf().getActivationFn(), this::layerId);
    }

    private INDArray maskRows(LayerWorkspaceMgr workspaceMgr) {
        return ConvolutionUtils.reshapeMaskIfRequired(
                maskArray, input, CNN2DFormat.NCHW, workspaceMgr, ArrayType.FF_WORKING_MEM);
    }

    private boolean isComplete() {
        return PositionLoss.isComplete(input, labels, 4);
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        if (input.rank() != 4) {
            // DL4J's layer throws.
            return super.activate(training, workspaceMgr);
        }
        return loss.activated(input, training, workspaceMgr);
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        if (!isComplete()) {
            // DL4J's layer has a message for each case, and throws it before it computes.
            return super.backpropGradient(epsilon, workspaceMgr);
        }
        INDArray next = loss.gradient(input, labels, maskRows(workspaceMgr), dataType, workspaceMgr);
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
        double sum = loss.sum(input, labels, maskRows(workspaceMgr), workspaceMgr);
        score = sum / getInputMiniBatchSize() + fullNetRegTerm;
        return score;
    }

    @Override
    public INDArray computeScoreForExamples(double fullNetRegTerm, LayerWorkspaceMgr workspaceMgr) {
        if (!isComplete()) {
            return super.computeScoreForExamples(fullNetRegTerm, workspaceMgr);
        }
        INDArray scores = loss.losses(input, labels, maskRows(workspaceMgr), workspaceMgr);
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
