package org.dl4jamp.onednn.vertex;

import java.util.Optional;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Images {@code [minibatch, channels, height, width]} without their first row and column. */
final class PoolHelperTwin extends VertexTwin {
    private static final long serialVersionUID = 1L;

    private static final int HEIGHT = 2;
    private static final int WIDTH = 3;

    PoolHelperTwin(VertexRequest request, OneDnnContext context) {
        super(request, context);
    }

    @Override
    protected boolean covers(INDArray[] inputs) {
        return inputs.length == 1 && inputs[0].rank() == 4 && inputs[0].size(HEIGHT) > 1 && inputs[0].size(WIDTH) > 1;
    }

    private static INDArray inner(INDArray images) {
        INDArray rows = Workspaces.range(images, HEIGHT, 1, images.size(HEIGHT) - 1);
        return Workspaces.range(rows, WIDTH, 1, images.size(WIDTH) - 1);
    }

    @Override
    protected Optional<long[]> outputShape(INDArray[] inputs) {
        long[] shape = inputs[0].shape().clone();
        shape[HEIGHT]--;
        shape[WIDTH]--;
        return Optional.of(shape);
    }

    @Override
    protected INDArray forward(INDArray[] inputs, boolean training, LayerWorkspaceMgr workspaceMgr) {
        INDArray output =
                create(workspaceMgr, ArrayType.ACTIVATIONS, outputShape(inputs).orElseThrow());
        context().copies().copy(inner(inputs[0]), output);
        return output;
    }

    @Override
    protected INDArray[] backward(INDArray[] inputs, INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        INDArray gradient = create(workspaceMgr, ArrayType.ACTIVATION_GRAD, inputs[0].shape());
        Workspaces.clear(gradient);
        context().copies().copy(epsilon, inner(gradient));
        return new INDArray[] {gradient};
    }
}
