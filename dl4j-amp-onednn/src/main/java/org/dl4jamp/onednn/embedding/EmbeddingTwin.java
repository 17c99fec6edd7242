package org.dl4jamp.onednn.embedding;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.feedforward.embedding.EmbeddingLayer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.OneDnnTwin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** An embedding of one index per example. Rows are FP32, like the table, and are rounded once, at the end. */
final class EmbeddingTwin extends EmbeddingLayer implements OneDnnTwin {
    private static final long serialVersionUID = 1L;

    private final transient EmbeddingPasses passes;

    EmbeddingTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.passes = new EmbeddingPasses(context, layerConf().getActivationFn(), this::layerId, INDArray::transpose);
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
        return passes.forward(rows(workspaceMgr), params, training, workspaceMgr);
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        EmbeddingRows rows = rows(workspaceMgr);
        if (!passes.takesWholeArrays()) {
            Rejection.ofEpsilon(layerId(), epsilon, rows.count(), layerConf().getNOut());
        }
        Gradient gradient = passes.backward(rows, epsilon, params, gradientViews, workspaceMgr);
        return new Pair<>(gradient, null);
    }

    @Override
    public void close() {
        passes.close();
    }
}
