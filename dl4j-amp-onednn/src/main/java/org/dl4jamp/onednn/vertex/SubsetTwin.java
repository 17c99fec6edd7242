package org.dl4jamp.onednn.vertex;

import java.util.Optional;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.ndarray.INDArray;

/** A range of the features or channels (axis 1) of an array. */
final class SubsetTwin extends VertexTwin {
    private static final long serialVersionUID = 1L;

    private static final int CHANNELS = 1;

    private final long first;
    private final long length;

    SubsetTwin(VertexRequest request, long first, long length, OneDnnContext context) {
        super(request, context);
        this.first = first;
        this.length = length;
    }

    @Override
    protected boolean covers(INDArray[] inputs) {
        return inputs.length == 1
                && inputs[0].rank() >= 2
                && inputs[0].rank() <= 4
                && first + length <= inputs[0].size(CHANNELS);
    }

    @Override
    protected Optional<long[]> outputShape(INDArray[] inputs) {
        long[] shape = inputs[0].shape().clone();
        shape[CHANNELS] = length;
        return Optional.of(shape);
    }

    @Override
    protected INDArray forward(INDArray[] inputs, boolean training, LayerWorkspaceMgr workspaceMgr) {
        INDArray range = Workspaces.range(inputs[0], CHANNELS, first, length);
        INDArray output = create(workspaceMgr, ArrayType.ACTIVATIONS, range.shape());
        context().copies().copy(range, output);
        return output;
    }

    @Override
    protected INDArray[] backward(INDArray[] inputs, INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        INDArray gradient = create(workspaceMgr, ArrayType.ACTIVATION_GRAD, inputs[0].shape());
        Workspaces.contiguous(gradient).assign(0);
        context().copies().copy(epsilon, Workspaces.range(gradient, CHANNELS, first, length));
        return new INDArray[] {gradient};
    }
}
