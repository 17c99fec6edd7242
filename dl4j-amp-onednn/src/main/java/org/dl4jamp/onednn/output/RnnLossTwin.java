package org.dl4jamp.onednn.output;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.recurrent.RnnLossLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.util.TimeSeriesUtils;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.OneDnnTwin;
import org.dl4jamp.twin.Twin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The FP32 loss of sequences {@code [minibatch, channels, time]} of any type, one for each time step. */
final class RnnLossTwin extends RnnLossLayer implements Twin.ScoringOutput, OneDnnTwin {
    private static final long serialVersionUID = 1L;

    private final transient PositionLoss loss;

    RnnLossTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.loss =
                new PositionLoss(context, layerConf().getLossFn(), layerConf().getActivationFn(), this::layerId);
    }

    /** Returns the mask by example and then time; DL4J has it by time first, or has made rows of it already. */
    private INDArray maskRows(LayerWorkspaceMgr workspaceMgr) {
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

    /** Returns whether this twin computes: wrong arrays are left to DL4J's layer, which throws. */
    private boolean isComplete() {
        return PositionLoss.isComplete(input, labels, 3)
                && (maskArray == null || maskArray.length() % (input.size(0) * input.size(2)) == 0);
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        if (input.rank() != 3) {
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
        return scores.reshape('c', input.size(0), input.size(2)).sum(1).addi(fullNetRegTerm);
    }

    @Override
    public void close() {
        loss.close();
    }
}
