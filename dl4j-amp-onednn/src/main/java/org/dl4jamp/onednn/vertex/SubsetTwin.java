package org.dl4jamp.onednn.vertex;

import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.ndarray.INDArray;

/** A range of the features or channels (axis 1) of an array. */
final class SubsetTwin extends PartTwin {
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
    INDArray part(INDArray whole) {
        return Workspaces.range(whole, CHANNELS, first, length);
    }
}
