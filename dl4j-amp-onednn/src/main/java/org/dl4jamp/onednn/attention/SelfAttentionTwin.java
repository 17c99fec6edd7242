package org.dl4jamp.onednn.attention;

import java.util.List;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.SelfAttentionLayer;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Attention of each time step of {@code [minibatch, nIn, time]} to all of them. */
final class SelfAttentionTwin extends AttentionTwin {
    private static final long serialVersionUID = 1L;

    private final transient SelfAttentionLayer ours;

    SelfAttentionTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type, context, form((SelfAttentionLayer) conf.getLayer()));
        ours = (SelfAttentionLayer) conf.getLayer();
    }

    private static AttentionForm form(SelfAttentionLayer layer) {
        return AttentionForm.ofItself(layer.isProjectInput(), layer.getNHeads(), layer.getHeadSize(), layer.getNOut());
    }

    @Override
    boolean fits(INDArray given) {
        return given.rank() == 3 && (!ours.isProjectInput() || given.size(1) == ours.getNIn());
    }

    @Override
    void reject() {
        Rejection.of(conf, params, index, input);
    }

    @Override
    long[] outputShape() {
        long size = ours.isProjectInput() ? ours.getNOut() : input.size(1);
        return new long[] {input.size(0), size, input.size(2)};
    }

    @Override
    List<INDArray> inputs(AttentionMemory working) {
        return List.of(input);
    }

    @Override
    INDArray inputGradient(List<INDArray> nexts, AttentionMemory working) {
        return nexts.isEmpty() ? null : nexts.get(0);
    }
}
