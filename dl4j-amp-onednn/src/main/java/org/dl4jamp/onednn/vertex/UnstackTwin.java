package org.dl4jamp.onednn.vertex;

import java.util.Optional;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The examples of one of several arrays that were stacked. */
final class UnstackTwin extends VertexTwin {
    private static final long serialVersionUID = 1L;

    private static final int EXAMPLES = 0;

    private final long number;
    private final long count;

    /**
     * @param number of the array among those that were stacked
     * @param count of these
     */
    UnstackTwin(VertexRequest request, long number, long count, OneDnnContext context) {
        super(request, context);
        this.number = number;
        this.count = count;
    }

    @Override
    protected boolean covers(INDArray[] inputs) {
        return inputs.length == 1
                && inputs[0].rank() >= 2
                && inputs[0].rank() <= 4
                && number < count
                && examples(inputs[0]) > 0;
    }

    private long examples(INDArray whole) {
        return whole.size(EXAMPLES) / count;
    }

    private INDArray part(INDArray whole) {
        return Workspaces.range(whole, EXAMPLES, number * examples(whole), examples(whole));
    }

    @Override
    protected Optional<long[]> outputShape(INDArray[] inputs) {
        long[] shape = inputs[0].shape().clone();
        shape[EXAMPLES] = examples(inputs[0]);
        return Optional.of(shape);
    }

    @Override
    protected INDArray forward(INDArray[] inputs, boolean training, LayerWorkspaceMgr workspaceMgr) {
        INDArray output = createLike(
                inputs[0],
                workspaceMgr,
                ArrayType.ACTIVATIONS,
                outputShape(inputs).orElseThrow());
        context().copies().copy(part(inputs[0]), output);
        return output;
    }

    @Override
    protected INDArray[] backward(INDArray[] inputs, INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        INDArray gradient = createLike(inputs[0], workspaceMgr, ArrayType.ACTIVATION_GRAD, inputs[0].shape());
        Workspaces.clear(gradient);
        context().copies().copy(epsilon, part(gradient));
        return new INDArray[] {gradient};
    }
}
