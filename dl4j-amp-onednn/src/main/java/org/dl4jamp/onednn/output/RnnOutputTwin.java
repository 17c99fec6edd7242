package org.dl4jamp.onednn.output;

import java.util.Map;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.recurrent.RnnOutputLayer;
import org.deeplearning4j.nn.params.DefaultParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Views;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.Noise;
import org.dl4jamp.onednn.twin.OneDnnTwin;
import org.dl4jamp.twin.Twin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * An output layer of {@code [minibatch, nIn, time]}, or {@code [minibatch, time, nIn]}, over the FP32 master weights.
 * Output, loss and gradients of the parameters are FP32; factors of products are of the twin's type.
 *
 * <p>It multiplies one row per time step. The rows are ordered by example, then time, so that arrays with their
 * channels last in memory are matrices of them as they are; DL4J's layer, which orders them by time first, has to copy.
 * Labels and masks follow.
 */
final class RnnOutputTwin extends RnnOutputLayer implements Twin.ScoringOutput, OneDnnTwin {
    private static final long serialVersionUID = 1L;

    private final transient OutputPasses passes;
    /** The examples by which the mask's rows are ordered; 0 if they are as they were set. */
    private transient long examplesOfMask;

    RnnOutputTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.passes = new OutputPasses(context, type, layerConf(), this::layerId);
    }

    private boolean channelsAreLast() {
        return layerConf().getRnnDataFormat() == RNNFormat.NWC;
    }

    /** Returns {@code [minibatch, channels, time]}, whatever the layer's format. */
    private INDArray channelsSecond(INDArray sequences) {
        return channelsAreLast() ? Views.permuted(sequences, 0, 2, 1) : sequences;
    }

    private static INDArray rows(INDArray channelsLast) {
        INDArray turned = Views.permuted(channelsLast, 0, 2, 1);
        return Views.reshaped(turned, turned.size(0) * turned.size(1), turned.size(2));
    }

    /** Returns sequences in the layer's format. */
    private INDArray sequences(INDArray rows, long minibatch) {
        INDArray sequences = Views.reshaped(rows, minibatch, rows.size(0) / minibatch, rows.size(1));
        return channelsAreLast() ? sequences : Views.permuted(sequences, 0, 2, 1);
    }

    /**
     * Returns the input, to be asked for before noise is drawn: DL4J's layer, if it refuses the input, has drawn it.
     */
    private INDArray inputRows(boolean training, LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        if (!hasItsSize()) {
            // DL4J's layer has a message for it, and throws it before it computes.
            super.preOutput2d(training, workspaceMgr);
        }
        return rows(passes.rows(channelsSecond(input), workspaceMgr, working));
    }

    private boolean hasItsSize() {
        return channelsSecond(input).size(1)
                == getParam(DefaultParamInitializer.WEIGHT_KEY).size(0);
    }

    /**
     * Returns the parameters with weight noise.
     *
     * @param forScore whether they're drawn in the order of scores and backward passes
     */
    private Map<String, INDArray> drawn(boolean forScore, boolean training, LayerWorkspaceMgr workspaceMgr) {
        return Noise.drawn(layerConf(), params, name -> getParamWithNoise(name, training, workspaceMgr), forScore);
    }

    @Override
    protected INDArray preOutput2d(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        INDArray rows = inputRows(training, workspaceMgr, ArrayType.FF_WORKING_MEM);
        Map<String, INDArray> parameters = drawn(true, training, workspaceMgr);
        INDArray sums = passes.preOutput(rows, parameters, training, workspaceMgr, ArrayType.FF_WORKING_MEM);
        maskPreOutput(sums);
        return sums;
    }

    private void maskPreOutput(INDArray sums) {
        if (mask() != null) {
            applyMask(sums);
        }
    }

    /**
     * Returns the mask in the order of the input's rows. In networks with {@code miniBatch(false)} DL4J makes one long
     * sequence of a batch behind {@code FeedForwardToRnnPreProcessor}, and leaves the mask as it is. Its own order of
     * rows, by time first, is the same for both.
     */
    private INDArray mask() {
        long examples = input.size(0);
        if (maskArray != null && examplesOfMask > 0 && examplesOfMask != examples) {
            try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
                maskArray = swapped(swapped(maskArray, examplesOfMask), maskArray.size(0) / examples);
            }
            examplesOfMask = examples;
        }
        return maskArray;
    }

    /** Returns rows that are ordered by one of two axes first, by the other first. */
    private static INDArray swapped(INDArray rows, long first) {
        INDArray turned =
                rows.reshape('c', first, rows.size(0) / first, rows.size(1)).permute(1, 0, 2);
        return turned.dup('c').reshape('c', rows.shape());
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        if (input.rank() != 3 || !hasItsSize()) {
            // DL4J's layer throws.
            return super.activate(training, workspaceMgr);
        }
        INDArray rows = inputRows(training, workspaceMgr, ArrayType.FF_WORKING_MEM);
        Map<String, INDArray> parameters = drawn(false, training, workspaceMgr);
        INDArray sums = passes.preOutput(rows, parameters, training, workspaceMgr, ArrayType.ACTIVATIONS);
        INDArray output = passes.activated(sums, training);
        maskPreOutput(output);
        return sequences(output, input.size(0));
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        int time = layerConf().getRnnDataFormat() == RNNFormat.NCW ? 2 : 1;
        if (input.rank() != 3 || labels.rank() != 3 || input.size(time) != labels.size(time)) {
            // DL4J's layer has a message for each of the three, and throws it before it computes.
            return super.backpropGradient(epsilon, workspaceMgr);
        }
        INDArray next = passes.backward(
                inputRows(true, workspaceMgr, ArrayType.BP_WORKING_MEM),
                drawn(true, true, workspaceMgr),
                gradientViews,
                getLabels2d(workspaceMgr, ArrayType.BP_WORKING_MEM),
                mask(),
                this::maskPreOutput,
                workspaceMgr);
        clearNoiseWeightParams();
        return new Pair<>(OutputPasses.gradient(gradientViews), sequences(next, input.size(0)));
    }

    @Override
    protected INDArray getLabels2d(LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        return labels.rank() == 3 ? rows(passes.targets(channelsSecond(labels), workspaceMgr, working)) : labels;
    }

    @Override
    public void setMaskArray(INDArray mask) {
        if (mask == null || mask.rank() < 2 || mask.rank() > 3) {
            // There is nothing to order, or DL4J's layer throws.
            super.setMaskArray(mask);
            examplesOfMask = 0;
            return;
        }
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            examplesOfMask = mask.size(0);
            // DL4J takes masks of single outputs as [minibatch, nOut, time] in every format.
            this.maskArray = mask.rank() == 2
                    ? mask.dup('c').reshape('c', mask.length(), 1)
                    : mask.permute(0, 2, 1).dup('c').reshape('c', mask.size(0) * mask.size(2), mask.size(1));
        }
    }

    @Override
    public INDArray computeScoreForExamples(double fullNetRegTerm, LayerWorkspaceMgr workspaceMgr) {
        if (input == null || labels == null) {
            // DL4J's layer throws.
            return super.computeScoreForExamples(fullNetRegTerm, workspaceMgr);
        }
        INDArray scores = layerConf()
                .getLossFn()
                .computeScoreArray(
                        getLabels2d(workspaceMgr, ArrayType.FF_WORKING_MEM),
                        preOutput2d(false, workspaceMgr),
                        layerConf().getActivationFn(),
                        mask());
        return scores.reshape('c', input.size(0), scores.length() / input.size(0))
                .sum(true, 1)
                .addi(fullNetRegTerm);
    }

    @Override
    public boolean scoresBackwardPass() {
        return !Noise.isIn(layerConf());
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
