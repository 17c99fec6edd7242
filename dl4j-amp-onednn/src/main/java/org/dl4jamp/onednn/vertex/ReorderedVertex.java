package org.dl4jamp.onednn.vertex;

import java.util.Optional;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.ndarray.INDArray;

/** DL4J's own vertex on arrays in the order in memory that it's fast on: one that changes shapes. */
final class ReorderedVertex extends VertexTwin {
    private static final long serialVersionUID = 1L;

    ReorderedVertex(VertexRequest request, OneDnnContext context) {
        super(request, context);
    }

    @Override
    protected boolean covers(INDArray[] inputs) {
        return inputs.length == 1;
    }

    @Override
    protected Optional<long[]> outputShape(INDArray[] inputs) {
        return Optional.empty();
    }

    @Override
    protected INDArray forward(INDArray[] inputs, boolean training, LayerWorkspaceMgr workspaceMgr) {
        master().setInput(0, context().copies().dense(inputs[0], workspaceMgr, ArrayType.ACTIVATIONS), workspaceMgr);
        return master().doForward(training, workspaceMgr);
    }

    @Override
    protected INDArray[] backward(INDArray[] inputs, INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        master().setEpsilon(context().copies().dense(epsilon, workspaceMgr, ArrayType.BP_WORKING_MEM));
        return master().doBackward(false, workspaceMgr).getSecond();
    }
}
