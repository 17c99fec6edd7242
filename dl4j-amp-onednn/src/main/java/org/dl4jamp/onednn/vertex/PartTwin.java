package org.dl4jamp.onednn.vertex;

import java.util.Optional;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.ndarray.INDArray;

/** A part of an array. The gradient of the rest is zero. */
abstract class PartTwin extends VertexTwin {
    private static final long serialVersionUID = 1L;

    PartTwin(VertexRequest request, OneDnnContext context) {
        super(request, context);
    }

    /** Returns a view of the part, of an input or of its gradient. */
    abstract INDArray part(INDArray whole);

    @Override
    protected Optional<long[]> outputShape(INDArray[] inputs) {
        return Optional.of(part(inputs[0]).shape());
    }

    @Override
    protected INDArray forward(INDArray[] inputs, boolean training, LayerWorkspaceMgr workspaceMgr) {
        INDArray part = part(inputs[0]);
        INDArray output = createLike(inputs[0], workspaceMgr, ArrayType.ACTIVATIONS, part.shape());
        context().copies().copy(part, output);
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
