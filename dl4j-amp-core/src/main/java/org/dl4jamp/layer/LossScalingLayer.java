package org.dl4jamp.layer;

import java.util.List;
import java.util.function.Function;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.MaskState;
import org.deeplearning4j.nn.api.layers.IOutputLayer;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.layers.Cnn3DLossLayer;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.RnnLossLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.twin.Gate;
import org.dl4jamp.twin.Twin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.api.DataSet;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;

/**
 * A {@link TwinLayer} for output layers: computes loss and its gradient in FP32 and multiplies the gradient that it
 * returns by the scale, so that all gradients upstream carry it. Its own parameter gradients don't.
 */
public final class LossScalingLayer extends TwinLayer implements IOutputLayer {
    private static final long serialVersionUID = 1L;

    private transient INDArray scoredInput;
    private transient INDArray givenMask;

    /** Makes the wrapper of an output layer; the twin is one, too. */
    LossScalingLayer(TwinSetup setup) {
        super(setup);
    }

    @Override
    public void handOver(Layer next) {
        super.handOver(next);
        if (getLabels() != null && next.input() != null) {
            ((IOutputLayer) next).setLabels(getLabels());
        }
    }

    @Override
    IOutputLayer masterOfPass() {
        IOutputLayer master = (IOutputLayer) super.masterOfPass();
        if (getLabels() != null && compute() != master) {
            master.setLabels(getLabels());
        }
        return master;
    }

    private IOutputLayer outputLayer() {
        return (IOutputLayer) compute();
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        if (ranOwn()) {
            return super.backpropGradient(epsilon, workspaceMgr);
        }
        guard().trains();
        guard().backwardBegins(this, getLabels());
        gradientScale().begin(this, lossTerms(master().conf().getLayer(), input()));
        try (Gate.Inside inside = guard().gate().enter()) {
            Pair<Gradient, INDArray> result =
                    backward(epsilon, workspaceMgr, compute()::backpropGradient, labeledMaster()::backpropGradient);
            scoredInput = ofMaster().computes() ? null : input();
            return result;
        }
    }

    /** DL4J doesn't run an output layer forward before it runs it backward. */
    @Override
    void prepareBackward(LayerWorkspaceMgr workspaceMgr) {
        twin().weights().refresh();
        applyDropoutBeforeBackward(workspaceMgr);
    }

    private IOutputLayer labeledMaster() {
        IOutputLayer master = (IOutputLayer) master();
        if (compute() != master) {
            master.setLabels(getLabels());
        }
        return master;
    }

    @Override
    public void setInput(INDArray given, LayerWorkspaceMgr workspaceMgr) {
        scoredInput = null;
        super.setInput(given, workspaceMgr);
    }

    @Override
    public boolean needsLabels() {
        return outputLayer().needsLabels();
    }

    @Override
    public void setLabels(INDArray labels) {
        scoredInput = null;
        try (Gate.Inside inside = guard().gate().touch()) {
            outputLayer().setLabels(labels);
            if (inside.isOwn()) {
                // The network may have its own layers back before it computes the score.
                ((IOutputLayer) master()).setLabels(labels);
            }
        }
    }

    @Override
    public Layer informedMaster() {
        Layer master = super.informedMaster();
        ((IOutputLayer) master).setLabels(getLabels());
        return master;
    }

    @Override
    public INDArray getLabels() {
        return outputLayer().getLabels();
    }

    @Override
    public double computeScore(double fullNetworkRegScore, boolean training, LayerWorkspaceMgr workspaceMgr) {
        try (Gate.Inside inside = enterScore()) {
            if (inside.isOwn()) {
                return masterOfPass().computeScore(fullNetworkRegScore, training, workspaceMgr);
            }
            return training
                            && compute() instanceof Twin.ScoringOutput scoring
                            && scoring.scoresBackwardPass()
                            && isScoreOfBackwardPass()
                    ? scoring.scoreOfBackwardPass(fullNetworkRegScore)
                    : score(
                            training,
                            workspaceMgr,
                            (layer, inner) -> layer.computeScore(fullNetworkRegScore, training, inner));
        }
    }

    /** One way of computing a score of an input and labels that have been set. */
    private interface Score<T> {
        T of(IOutputLayer layer, LayerWorkspaceMgr workspaceMgr);
    }

    private <T> T score(boolean training, LayerWorkspaceMgr workspaceMgr, Score<T> score) {
        return ofMaster()
                .unlessRefused(
                        ofMaster().rewinding(training),
                        () -> score.of(outputLayer(), prepareScore(training, workspaceMgr)),
                        () -> score.of(labeledMaster(), ofMaster().beginScore(training, workspaceMgr)));
    }

    // The same array is the same mask, which DL4J sets once more before it computes the score.
    @SuppressWarnings("ReferenceEquality")
    @Override
    public void setMaskArray(INDArray maskArray) {
        if (maskArray == null ? getMaskArray() != null : maskArray != givenMask) {
            scoredInput = null;
        }
        givenMask = maskArray;
        super.setMaskArray(maskArray);
    }

    @Override
    public Pair<INDArray, MaskState> feedForwardMaskArray(
            INDArray maskArray, MaskState currentMaskState, int minibatchSize) {
        scoredInput = null;
        givenMask = null;
        return super.feedForwardMaskArray(maskArray, currentMaskState, minibatchSize);
    }

    /**
     * Returns whether the requested score is that of the last backward pass. DL4J reads it within the scope of the
     * workspace that holds the input, right after the backward pass: parameters and labels can't have changed by then.
     */
    private boolean isScoreOfBackwardPass() {
        return scoredInput != null
                && scoredInput.isAttached()
                && scoredInput.isInScope()
                && scoredInput.data().getGenerationId()
                        == scoredInput.data().getParentWorkspace().getGenerationId();
    }

    @Override
    public void clear() {
        scoredInput = null;
        givenMask = null;
        super.clear();
    }

    @Override
    public INDArray computeScoreForExamples(double fullNetworkRegScore, LayerWorkspaceMgr workspaceMgr) {
        try (Gate.Inside inside = enterScore()) {
            if (inside.isOwn()) {
                return masterOfPass().computeScoreForExamples(fullNetworkRegScore, workspaceMgr);
            }
            return score(
                    false, workspaceMgr, (layer, inner) -> layer.computeScoreForExamples(fullNetworkRegScore, inner));
        }
    }

    @Override
    public double score() {
        return compute().score();
    }

    /** Computes external input in FP32, with the current parameters. */
    private <T> T ofMaster(Function<IOutputLayer, T> computation) {
        try (Gate.Inside inside = guard().gate().enter()) {
            return computation.apply((IOutputLayer) master());
        }
    }

    @Override
    public double f1Score(DataSet data) {
        return ofMaster(master -> master.f1Score(data));
    }

    @Override
    public double f1Score(INDArray examples, INDArray labels) {
        return ofMaster(master -> master.f1Score(examples, labels));
    }

    @Override
    public int numLabels() {
        return outputLayer().numLabels();
    }

    @Override
    public int[] predict(INDArray examples) {
        return ofMaster(master -> master.predict(examples));
    }

    @Override
    public List<String> predict(DataSet dataSet) {
        return ofMaster(master -> master.predict(dataSet));
    }

    private IOutputLayer trained() {
        guard().trains();
        return (IOutputLayer) master();
    }

    @Override
    public void fit(DataSetIterator iter) {
        trained().fit(iter);
    }

    @Override
    public void fit(INDArray examples, INDArray labels) {
        trained().fit(examples, labels);
    }

    @Override
    public void fit(DataSet data) {
        trained().fit(data);
    }

    @Override
    public void fit(INDArray examples, int[] labels) {
        trained().fit(examples, labels);
    }

    /**
     * Returns the number of terms of which a loss is the sum: examples, times time steps or positions. They are counted
     * in the output layer's input: {@code [minibatch, features]}, or with positions, in the order of axes that the
     * layer takes. Labels may have fewer channels, as class numbers, or more.
     */
    static long lossTerms(org.deeplearning4j.nn.conf.layers.Layer layer, INDArray input) {
        if (input.rank() < 3) {
            return input.size(0);
        }
        return input.length() / input.size(hasChannelsLast(layer) ? input.rank() - 1 : 1);
    }

    private static boolean hasChannelsLast(org.deeplearning4j.nn.conf.layers.Layer layer) {
        if (layer instanceof CnnLossLayer loss) {
            return loss.getFormat() == CNN2DFormat.NHWC;
        }
        if (layer instanceof Cnn3DLossLayer loss) {
            return loss.getDataFormat() == Convolution3D.DataFormat.NDHWC;
        }
        if (layer instanceof RnnLossLayer loss) {
            return loss.getRnnDataFormat() == RNNFormat.NWC;
        }
        return layer instanceof RnnOutputLayer output && output.getRnnDataFormat() == RNNFormat.NWC;
    }
}
