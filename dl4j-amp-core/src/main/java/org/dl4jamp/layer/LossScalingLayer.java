package org.dl4jamp.layer;

import java.util.List;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.layers.IOutputLayer;
import org.deeplearning4j.nn.conf.layers.FeedForwardLayer;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.api.DataSet;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;

/**
 * A {@link TwinLayer} for output layers: computes loss and its gradient in FP32 and multiplies what it hands back by the scale, so that all
 * gradients upstream carry it. Its own parameter gradients don't.
 */
public final class LossScalingLayer extends TwinLayer implements IOutputLayer {
    private static final long serialVersionUID = 1L;

    /** Takes what {@link TwinLayer} takes; master and twin are output layers. */
    public LossScalingLayer(
            Layer master,
            Twin twin,
            DataType rounded,
            DataType output,
            Surroundings surroundings,
            GradientScale gradientScale,
            StepGuard guard) {
        super(master, twin, rounded, output, surroundings, gradientScale, guard);
    }

    private IOutputLayer outputLayer() {
        return (IOutputLayer) compute();
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        guard().backwardBegins(this, getLabels());
        gradientScale().begin(this, lossTerms());
        // DL4J doesn't run an output layer forward before it runs it backward.
        twin().weights().refresh();
        applyDropoutBeforeBackward(workspaceMgr);
        return super.backpropGradient(epsilon, workspaceMgr);
    }

    /** How many terms the loss is the sum of: examples, times time steps or positions. */
    private long lossTerms() {
        INDArray labels = getLabels();
        INDArray terms = labels == null ? input() : labels;
        if (terms.rank() < 3) {
            return terms.size(0);
        }
        boolean knowsChannels = master().conf().getLayer() instanceof FeedForwardLayer layer && layer.getNOut() > 0;
        long channels = knowsChannels ? ((FeedForwardLayer) master().conf().getLayer()).getNOut() : terms.size(1);
        return terms.length() / channels;
    }

    @Override
    boolean scalesParameterGradients() {
        return false;
    }

    @Override
    INDArray handBack(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        double factor = gradientScale().factor();
        if (epsilon != null && factor != 1) {
            epsilon.muli(factor);
        }
        return super.handBack(epsilon, workspaceMgr);
    }

    @Override
    public boolean needsLabels() {
        return outputLayer().needsLabels();
    }

    @Override
    public void setLabels(INDArray labels) {
        outputLayer().setLabels(labels);
    }

    @Override
    public INDArray getLabels() {
        return outputLayer().getLabels();
    }

    @Override
    public double computeScore(double fullNetworkRegScore, boolean training, LayerWorkspaceMgr workspaceMgr) {
        return outputLayer().computeScore(fullNetworkRegScore, training, prepareScore(training, workspaceMgr));
    }

    @Override
    public INDArray computeScoreForExamples(double fullNetworkRegScore, LayerWorkspaceMgr workspaceMgr) {
        return outputLayer().computeScoreForExamples(fullNetworkRegScore, prepareScore(false, workspaceMgr));
    }

    @Override
    public double score() {
        return compute().score();
    }

    @Override
    public double f1Score(DataSet data) {
        return outputLayer().f1Score(data);
    }

    @Override
    public double f1Score(INDArray examples, INDArray labels) {
        return outputLayer().f1Score(examples, labels);
    }

    @Override
    public int numLabels() {
        return outputLayer().numLabels();
    }

    @Override
    public int[] predict(INDArray examples) {
        return outputLayer().predict(examples);
    }

    @Override
    public List<String> predict(DataSet dataSet) {
        return outputLayer().predict(dataSet);
    }

    @Override
    public void fit(DataSetIterator iter) {
        outputLayer().fit(iter);
    }

    @Override
    public void fit(INDArray examples, INDArray labels) {
        outputLayer().fit(examples, labels);
    }

    @Override
    public void fit(DataSet data) {
        outputLayer().fit(data);
    }

    @Override
    public void fit(INDArray examples, int[] labels) {
        outputLayer().fit(examples, labels);
    }
}
