package org.dl4jamp.engine.nd4j;

import java.util.LinkedHashMap;
import java.util.Map;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.samediff.SameDiffGraphVertex;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.dl4j.HiddenFields;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.twin.DelegatingVertex;
import org.dl4jamp.twin.Gate;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Attention of queries to keys and values, {@code [minibatch, size, time]} of half precision or FLOAT each, with
 * weights rounded to half precision in each pass. Products are summed, and softmax and masks applied, in FP32.
 *
 * <p>A gradient in FLOAT is one that HALF may not have: the backward pass is FP32 then.
 */
final class AttentionVertexTwin extends DelegatingVertex {
    private static final long serialVersionUID = 1L;

    private final transient VertexRequest request;
    private final transient Products products;
    /** Rounded; empty without projection. */
    private final transient Map<String, INDArray> weights = new LinkedHashMap<>();

    private transient boolean ranOwn;

    AttentionVertexTwin(VertexRequest request, Products products) {
        super(request.master());
        this.request = request;
        this.products = products;
        request.master()
                .paramTable(true)
                .forEach((name, own) -> weights.put(name, Nd4jSession.uninitialized(request.storage(), own.shape())));
        request.gate().takePart(request.context().turn(), false);
    }

    private INDArray mask(int input) {
        INDArray[] masks = HiddenFields.masks((SameDiffGraphVertex) master());
        return masks == null ? null : masks[input];
    }

    private Attention attention(DataType type, WorkingMemory memory) {
        INDArray[] inputs = getInputs();
        INDArray mask = mask(1) == null ? mask(2) : mask(1);
        if (mask(1) != null && mask(2) != null) {
            INDArray both = memory.create(DataType.FLOAT, 'c', mask.shape()).assign(mask);
            mask = both.muli(memory.cast(mask(2), DataType.FLOAT));
        }
        Products own = type == DataType.FLOAT ? Products.CAST : products;
        return new Attention(weights, inputs[0], inputs[1], inputs[2], mask, type, own, memory);
    }

    /** Multiplies {@code [minibatch, size, queries]} by the mask of queries. */
    private void hideQueries(INDArray array, WorkingMemory memory) {
        INDArray mask = mask(0);
        if (mask != null) {
            array.muli(memory.cast(mask, array.dataType()).reshape(mask.size(0), 1, mask.size(1)));
        }
    }

    @Override
    public INDArray doForward(boolean training, LayerWorkspaceMgr workspaceMgr) {
        try (Gate.Inside inside = request.gate().forward(request.context().turn(), false)) {
            ranOwn = inside.isOwn();
            if (ranOwn) {
                return master().doForward(training, workspaceMgr);
            }
            master().paramTable(true).forEach((name, own) -> weights.get(name).assign(own));
            WorkingMemory memory = WorkingMemory.forward(workspaceMgr);
            INDArray output = attention(request.storage(), memory).output();
            hideQueries(output, memory);
            return Attention.result(output, request.type(), ArrayType.ACTIVATIONS, workspaceMgr);
        }
    }

    @Override
    public Pair<Gradient, INDArray[]> doBackward(boolean tbptt, LayerWorkspaceMgr workspaceMgr) {
        if (ranOwn) {
            return master().doBackward(tbptt, workspaceMgr);
        }
        try (Gate.Inside inside = request.gate().enter()) {
            WorkingMemory memory = WorkingMemory.backward(workspaceMgr);
            INDArray epsilon = memory.create(
                            getEpsilon().dataType(), 'c', getEpsilon().shape())
                    .assign(getEpsilon());
            hideQueries(epsilon, memory);
            Map<String, INDArray> views = HiddenFields.gradients((SameDiffGraphVertex) master());
            INDArray[] gradients = attention(epsilon.dataType(), memory).backward(epsilon, views);
            for (int i = 0; i < gradients.length; i++) {
                DataType type = request.gradientType().apply(getInputs()[i].dataType());
                gradients[i] = Attention.result(gradients[i], type, ArrayType.ACTIVATION_GRAD, workspaceMgr);
            }
            Gradient gradient = new DefaultGradient();
            weights.keySet().forEach(name -> gradient.setGradientFor(name, views.get(name)));
            return new Pair<>(gradient, gradients);
        }
    }
}
