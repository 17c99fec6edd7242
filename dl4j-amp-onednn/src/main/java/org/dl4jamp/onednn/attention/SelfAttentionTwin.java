package org.dl4jamp.onednn.attention;

import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.SelfAttentionLayer;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.samediff.SameDiffLayer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.OneDnnTwin;
import org.dl4jamp.twin.Twin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Attention of each time step of {@code [minibatch, nIn, time]} to all of them. */
final class SelfAttentionTwin extends SameDiffLayer implements Twin.OptionalInputGradient, OneDnnTwin {
    private static final long serialVersionUID = 1L;

    private final transient AttentionPasses passes;
    private final transient SelfAttentionLayer ours;
    private transient boolean inputGradientUnwanted;

    SelfAttentionTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        this(conf, type, context, ScaledDotProduct.SCORES);
    }

    SelfAttentionTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context, long scores) {
        super(conf, type);
        ours = (SelfAttentionLayer) conf.getLayer();
        AttentionForm form =
                AttentionForm.ofItself(ours.isProjectInput(), ours.getNHeads(), ours.getHeadSize(), ours.getNOut());
        passes = new AttentionPasses(context, this::layerId, form, type, context.infers(), scores);
    }

    /** Rejects what DL4J rejects, with its message. */
    private void requireFit() {
        boolean fits =
                input.rank() == 3 && !input.isEmpty() && (!ours.isProjectInput() || input.size(1) == ours.getNIn());
        if (!fits) {
            Rejection.of(conf, params, index, input);
        }
        KeyMask.requireFit(maskArray, input);
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        requireFit();
        return passes.forward(List.of(input), params, maskArray, training, workspaceMgr);
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        requireFit();
        Rejection.ofEpsilon(
                layerId(),
                epsilon,
                input.size(0),
                ours.isProjectInput() ? ours.getNOut() : input.size(1),
                input.size(2));
        List<INDArray> nexts = passes.backward(
                List.of(input), params, maskArray, epsilon, gradients, !inputGradientUnwanted, workspaceMgr);
        Gradient gradient = new DefaultGradient();
        if (gradTable != null) {
            for (Map.Entry<String, INDArray> each : gradTable.entrySet()) {
                gradient.setGradientFor(each.getKey(), each.getValue());
            }
        }
        return new Pair<>(gradient, nexts.isEmpty() ? null : nexts.get(0));
    }

    @Override
    public void spareInputGradient(boolean unwanted) {
        inputGradientUnwanted = unwanted;
    }

    @Override
    public void clear() {
        super.clear();
        passes.forget();
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
