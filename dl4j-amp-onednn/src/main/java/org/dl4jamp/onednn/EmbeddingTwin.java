package org.dl4jamp.onednn;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.feedforward.embedding.EmbeddingLayer;
import org.deeplearning4j.nn.params.DefaultParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** An embedding without bias, of one index per example. Rows are FP32, as the table is; they're rounded once, when they're handed on. */
final class EmbeddingTwin extends EmbeddingLayer implements AutoCloseable {
    private static final long serialVersionUID = 1L;

    private final transient OneDnnContext context;

    EmbeddingTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.context = context;
    }

    private EmbeddingRows rows(LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        if (input.length() == input.size(0) || input.isRowVector()) {
            EmbeddingRows rows = EmbeddingRows.of(input, maskArray);
            if (rows.isWithin(layerConf().getNIn())) {
                return rows;
            }
        }
        // DL4J's layer has messages for what is wrong, and throws before it computes.
        super.preOutput(false, workspaceMgr);
        throw new IllegalStateException(
                "DL4J accepts what its twin doesn't: input of shape " + input.shapeInfoToString());
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        INDArray weights = getParam(DefaultParamInitializer.WEIGHT_KEY);
        EmbeddingRows rows = rows(workspaceMgr);
        INDArray columns =
                Workspaces.dense(workspaceMgr, ArrayType.ACTIVATIONS, DataType.FLOAT, weights.size(1), input.length());
        rows.read(weights, columns);
        return columns.transpose();
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        INDArray view = gradientViews.get(DefaultParamInitializer.WEIGHT_KEY);
        Gradient gradient = rows(workspaceMgr).gradient(epsilon.transpose(), view, context, workspaceMgr);
        return new Pair<>(gradient, null);
    }

    @Override
    public void close() {}
}
