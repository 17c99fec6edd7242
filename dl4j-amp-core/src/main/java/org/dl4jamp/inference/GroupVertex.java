package org.dl4jamp.inference;

import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.layer.GroupLayer;
import org.dl4jamp.twin.DelegatingVertex;
import org.dl4jamp.twin.Gate;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A wrapper of a vertex that adds what the head of a group has added already, in the passes in which the group is
 * computed together.
 */
public final class GroupVertex extends DelegatingVertex {
    private static final long serialVersionUID = 1L;

    private final transient VertexRequest request;
    private final transient int product;
    private final transient GroupLayer.Membership membership;
    private final transient GraphVertex together;
    private final transient GraphVertex alone;

    /**
     * @param product number of the input that the group makes
     * @param together the vertex of passes that compute the group together
     * @param alone the vertex of all other passes
     */
    public GroupVertex(
            VertexRequest request,
            int product,
            GroupLayer.Membership membership,
            GraphVertex together,
            GraphVertex alone) {
        super(request.master());
        this.request = request;
        this.product = product;
        this.membership = membership;
        this.together = together;
        this.alone = alone;
        request.gate().takePart(request.surroundings().turn(), false);
    }

    @Override
    public INDArray doForward(boolean training, LayerWorkspaceMgr workspaceMgr) {
        try (Gate.Inside inside = request.gate().forward(request.surroundings().turn(), false)) {
            if (inside.isOwn() || !master().canDoForward() || !membership.isTogether(getInputs()[product])) {
                return alone.doForward(training, workspaceMgr);
            }
            INDArray sum = together.doForward(training, workspaceMgr);
            membership.handsOn(sum);
            return sum;
        }
    }
}
