package org.dl4jamp.onednn.vertex;

import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Images {@code [minibatch, channels, height, width]} without their first row and column. */
final class PoolHelperTwin extends PartTwin {
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

    @Override
    INDArray part(INDArray images) {
        INDArray rows = Workspaces.range(images, HEIGHT, 1, images.size(HEIGHT) - 1);
        return Workspaces.range(rows, WIDTH, 1, images.size(WIDTH) - 1);
    }
}
