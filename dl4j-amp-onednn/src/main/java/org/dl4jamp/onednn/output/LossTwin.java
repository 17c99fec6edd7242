package org.dl4jamp.onednn.output;

import java.util.List;
import org.deeplearning4j.nn.api.layers.IOutputLayer;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.AbstractLayer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.twin.OneDnnTwin;
import org.dl4jamp.twin.Twin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.api.DataSet;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The FP32 loss of an input of any type, in a layer without parameters. Arrays that it doesn't take are left to DL4J's
 * own layer, which has an exception for each case.
 *
 * @param <L> the layer's configuration
 */
abstract class LossTwin<L extends Layer> extends AbstractLayer<L> implements Twin.ScoringOutput, OneDnnTwin {
    private static final long serialVersionUID = 1L;

    private transient INDArray labels;
    private transient boolean leftBackward;
    private transient double score;

    LossTwin(NeuralNetConfiguration conf, DataType type) {
        super(conf, type);
    }

    /** Returns whether the input can be activated. */
    abstract boolean takesInput();

    /** Returns whether input, labels and mask make a loss. */
    abstract boolean isComplete();

    /** Returns the input with the activation function applied, in FP32. */
    abstract INDArray output(boolean training, LayerWorkspaceMgr workspaceMgr);

    /** Returns the gradient of the input, in this twin's type, and sums the losses. */
    abstract INDArray gradient(LayerWorkspaceMgr workspaceMgr);

    /** Returns the sum of all losses of the last backward pass. */
    abstract double sumOfBackwardPass();

    /** Returns the sum of all losses. */
    abstract double sum(LayerWorkspaceMgr workspaceMgr);

    /** Returns the loss of each example, with the regularization term, as DL4J's layer does. */
    abstract INDArray losses(double regularization, LayerWorkspaceMgr workspaceMgr);

    /** Makes DL4J's own layer with the same input, labels and mask. */
    final IOutputLayer dl4j() {
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            NeuralNetConfiguration own = conf.clone();
            var layer = own.getLayer().instantiate(own, List.of(), index, null, false, DataType.FLOAT);
            if (input != null) {
                layer.setInput(input.castTo(DataType.FLOAT), LayerWorkspaceMgr.noWorkspaces());
            }
            layer.setMaskArray(maskArray);
            ((IOutputLayer) layer).setLabels(labels);
            return (IOutputLayer) layer;
        }
    }

    @Override
    public final INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        return takesInput() ? output(training, workspaceMgr) : dl4j().activate(training, workspaceMgr);
    }

    @Override
    public final Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        leftBackward = !isComplete();
        return leftBackward
                ? dl4j().backpropGradient(epsilon, workspaceMgr)
                : new Pair<>(new DefaultGradient(), gradient(workspaceMgr));
    }

    @Override
    public boolean scoresBackwardPass() {
        return !leftBackward;
    }

    @Override
    public final double scoreOfBackwardPass(double fullNetworkRegScore) {
        score = sumOfBackwardPass() / getInputMiniBatchSize() + fullNetworkRegScore;
        return score;
    }

    @Override
    public final double computeScore(double fullNetRegTerm, boolean training, LayerWorkspaceMgr workspaceMgr) {
        score = isComplete()
                ? sum(workspaceMgr) / getInputMiniBatchSize() + fullNetRegTerm
                : dl4j().computeScore(fullNetRegTerm, training, workspaceMgr);
        return score;
    }

    @Override
    public final INDArray computeScoreForExamples(double fullNetRegTerm, LayerWorkspaceMgr workspaceMgr) {
        return isComplete()
                ? losses(fullNetRegTerm, workspaceMgr)
                : dl4j().computeScoreForExamples(fullNetRegTerm, workspaceMgr);
    }

    @Override
    public final double score() {
        return score;
    }

    @Override
    public final boolean needsLabels() {
        return true;
    }

    @Override
    public final void setLabels(INDArray labels) {
        this.labels = labels;
    }

    @Override
    public final INDArray getLabels() {
        return labels;
    }

    @Override
    public final int numLabels() {
        return dl4j().numLabels();
    }

    @Override
    public void clear() {
        super.clear();
        labels = null;
    }

    @Override
    public final boolean isPretrainLayer() {
        return false;
    }

    @Override
    public final void clearNoiseWeightParams() {
        // There are no parameters.
    }

    // The wrapper calls these of the network's own layer.

    @Override
    public final double f1Score(DataSet data) {
        return dl4j().f1Score(data);
    }

    @Override
    public final double f1Score(INDArray examples, INDArray labels) {
        return dl4j().f1Score(examples, labels);
    }

    @Override
    public final int[] predict(INDArray examples) {
        return dl4j().predict(examples);
    }

    @Override
    public final List<String> predict(DataSet dataSet) {
        return dl4j().predict(dataSet);
    }

    @Override
    public final void fit(DataSetIterator iter) {
        dl4j().fit(iter);
    }

    @Override
    public final void fit(INDArray examples, INDArray labels) {
        dl4j().fit(examples, labels);
    }

    @Override
    public final void fit(DataSet data) {
        dl4j().fit(data);
    }

    @Override
    public final void fit(INDArray examples, int[] labels) {
        dl4j().fit(examples, labels);
    }
}
