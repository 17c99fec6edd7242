package org.dl4jamp.onednn.output;

import java.util.Map;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.BaseOutputLayer;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.params.DefaultParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.Noise;
import org.dl4jamp.onednn.twin.OneDnnTwin;
import org.dl4jamp.twin.Twin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * An output layer of {@code [minibatch, nIn]} over the FP32 master weights. Output, loss and gradients of the
 * parameters are FP32; factors of products are of the twin's type.
 *
 * @param <C> the layer's configuration
 */
class OutputTwin<C extends BaseOutputLayer> extends org.deeplearning4j.nn.layers.BaseOutputLayer<C>
        implements Twin.ScoringOutput, OneDnnTwin {
    private static final long serialVersionUID = 1L;

    private final transient OutputPasses passes;

    OutputTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.passes = new OutputPasses(context, type, layerConf(), this::layerId);
    }

    /** Returns the sum of the losses of all outputs in the last backward pass. */
    final double sumOfBackwardPass() {
        return passes.score(1, 0);
    }

    @Override
    protected INDArray getLabels2d(LayerWorkspaceMgr workspaceMgr, ArrayType place) {
        return labels;
    }

    /**
     * Returns the input, to be asked for before noise is drawn: DL4J's layer, if it refuses the input, has drawn it.
     */
    private INDArray rows(boolean training, LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        if (input.rank() != 2
                || input.size(1) != getParam(DefaultParamInitializer.WEIGHT_KEY).size(0)) {
            // DL4J's layer has a message for each of the two, and throws it before it computes.
            super.preOutput(training, workspaceMgr);
        }
        return passes.rows(input, workspaceMgr, working);
    }

    @Override
    protected INDArray preOutput(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        INDArray rows = rows(training, workspaceMgr, ArrayType.FF_WORKING_MEM);
        INDArray sums =
                passes.preOutput(rows, drawn(training, workspaceMgr), training, workspaceMgr, ArrayType.ACTIVATIONS);
        maskPreOutput(sums);
        return sums;
    }

    /** Returns the parameters with weight noise, which the network clears after the score. */
    private Map<String, INDArray> drawn(boolean training, LayerWorkspaceMgr workspaceMgr) {
        return Noise.drawn(layerConf(), params, name -> getParamWithNoise(name, training, workspaceMgr), false);
    }

    private void maskPreOutput(INDArray sums) {
        if (maskArray != null) {
            applyMask(sums);
        }
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        INDArray output = passes.activated(preOutput(training, workspaceMgr), training);
        maskPreOutput(output);
        return output;
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        INDArray next = passes.backward(
                rows(true, workspaceMgr, ArrayType.BP_WORKING_MEM),
                drawn(true, workspaceMgr),
                gradientViews,
                getLabels2d(workspaceMgr, ArrayType.BP_WORKING_MEM),
                maskArray,
                this::maskPreOutput,
                workspaceMgr);
        return new Pair<>(OutputPasses.gradient(gradientViews), next);
    }

    @Override
    public boolean scoresBackwardPass() {
        return passes.scoresBackwardPass();
    }

    @Override
    public double scoreOfBackwardPass(double fullNetworkRegScore) {
        score = passes.score(conf().isMiniBatch() ? getInputMiniBatchSize() : 1, fullNetworkRegScore);
        return score;
    }

    @Override
    public Twin.Weights keptWeights() {
        return passes.weights();
    }

    @Override
    public void close() {
        passes.close();
    }
}
