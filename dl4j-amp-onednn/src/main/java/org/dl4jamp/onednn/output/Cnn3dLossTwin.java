package org.dl4jamp.onednn.output;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.convolution.Cnn3DLossLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.util.ConvolutionUtils;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.OneDnnTwin;
import org.dl4jamp.twin.Twin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The FP32 loss of volumes of any type and of either format, one for each voxel. */
final class Cnn3dLossTwin extends Cnn3DLossLayer implements Twin.ScoringOutput, OneDnnTwin {
    private static final long serialVersionUID = 1L;

    private final transient PositionLoss loss;

    Cnn3dLossTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.loss =
                new PositionLoss(context, layerConf().getLossFn(), layerConf().getActivationFn(), this::layerId);
    }

    private ChannelAxis channels() {
        return ChannelAxis.of(layerConf().getDataFormat());
    }

    private INDArray maskRows(LayerWorkspaceMgr workspaceMgr) {
        return ConvolutionUtils.reshapeCnn3dMask(
                layerConf().getDataFormat(), maskArray, labels, workspaceMgr, ArrayType.FF_WORKING_MEM);
    }

    private boolean isComplete() {
        return input != null
                && input.rank() == 5
                && labels != null
                && labels.rank() == 5
                && PositionLoss.isComplete(volumes(), targets(), 5);
    }

    /** Returns the input with its channels as the second axis. */
    private INDArray volumes() {
        return channels().toSecond(input);
    }

    private INDArray targets() {
        return channels().toSecond(labels);
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        if (input.rank() != 5) {
            // DL4J's layer throws.
            return super.activate(training, workspaceMgr);
        }
        return channels().fromSecond(loss.activated(volumes(), training, workspaceMgr));
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        if (!isComplete()) {
            // DL4J's layer has a message for each case, and throws it before it computes.
            return super.backpropGradient(epsilon, workspaceMgr);
        }
        INDArray next = loss.gradient(volumes(), targets(), maskRows(workspaceMgr), dataType, workspaceMgr);
        return new Pair<>(new DefaultGradient(), channels().fromSecond(next));
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
        double sum = loss.sum(volumes(), targets(), maskRows(workspaceMgr), workspaceMgr);
        score = sum / getInputMiniBatchSize() + fullNetRegTerm;
        return score;
    }

    @Override
    public INDArray computeScoreForExamples(double fullNetRegTerm, LayerWorkspaceMgr workspaceMgr) {
        if (!isComplete()) {
            return super.computeScoreForExamples(fullNetRegTerm, workspaceMgr);
        }
        if (volumes().size(1) > 1) {
            // DL4J takes the losses for as many as there are channels, and throws.
            return super.computeScoreForExamples(fullNetRegTerm, workspaceMgr);
        }
        INDArray scores = loss.losses(volumes(), targets(), maskRows(workspaceMgr), workspaceMgr);
        INDArray sums = scores.reshape('c', input.size(0), scores.length() / input.size(0))
                .sum(1)
                .addi(fullNetRegTerm);
        return workspaceMgr.leverageTo(ArrayType.ACTIVATIONS, sums);
    }

    @Override
    public void close() {
        loss.close();
    }
}
