package org.dl4jamp.onednn.embedding;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.feedforward.embedding.EmbeddingSequenceLayer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.OneDnnTwin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** An embedding of sequences of indices. Rows are FP32, like the table, and are rounded once, at the end. */
final class EmbeddingSequenceTwin extends EmbeddingSequenceLayer implements OneDnnTwin {
    private static final long serialVersionUID = 1L;

    private final transient EmbeddingPasses passes;

    EmbeddingSequenceTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.passes = new EmbeddingPasses(context, layerConf().getActivationFn(), this::layerId, this::view);
    }

    private INDArray featuresFirst(INDArray array) {
        return layerConf().getOutputFormat() == RNNFormat.NCW ? array : array.permute(0, 2, 1);
    }

    private long steps() {
        return input.size(input.rank() - 1);
    }

    private EmbeddingRows rows(LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        boolean sequences = input.rank() == 2 || (input.rank() == 3 && input.size(1) == 1);
        boolean ofItsLength =
                layerConf().isInferInputLength() || steps() == layerConf().getInputLength();
        boolean masksFit = maskArray == null
                || (maskArray.rank() == 2 && maskArray.size(0) == input.size(0) && maskArray.size(1) == steps());
        if (sequences && ofItsLength && masksFit) {
            EmbeddingRows rows = EmbeddingRows.of(input, maskArray);
            if (rows.isWithin(layerConf().getNIn())) {
                return rows;
            }
        }
        // DL4J's layer has messages for what is wrong.
        super.activate(false, workspaceMgr);
        throw new IllegalStateException(
                "DL4J accepts what its twin doesn't: input of shape " + input.shapeInfoToString());
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        EmbeddingRows rows = rows(workspaceMgr);
        return passes.forward(rows, params, training, workspaceMgr);
    }

    private INDArray view(INDArray columns) {
        return featuresFirst(
                columns.reshape('c', columns.size(0), input.size(0), steps()).permute(1, 0, 2));
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        EmbeddingRows rows = rows(workspaceMgr);
        if (!passes.takesWholeArrays()) {
            Rejection.ofEpsilon(
                    layerId(),
                    featuresFirst(epsilon),
                    input.size(0),
                    layerConf().getNOut(),
                    steps());
        }
        return new Pair<>(passes.backward(rows, epsilon, params, gradientViews, workspaceMgr), null);
    }

    @Override
    public void close() {
        passes.close();
    }
}
