package org.dl4jamp.install;

import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.graph.vertex.BaseGraphVertex;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.policy.PrecisionPlan;
import org.nd4j.linalg.api.buffer.DataType;

/**
 * The types that a network's own vertices cast to. They follow each pass: half precision in a pass that wrappers
 * compute, FP32 in a pass of the network's own layers. A vertex reads its type several times, so no type may change
 * within a pass.
 */
final class VertexTypes implements Installation.Replacement {
    private record Vertex(BaseGraphVertex casting, DataType ours, DataType own) {}

    private final List<Vertex> vertices = new ArrayList<>();
    private boolean ours;

    /** Takes the types of the plan for vertices without a layer; they are set when a pass begins. */
    VertexTypes(AmpNetwork network, PrecisionPlan plan) {
        for (PrecisionPlan.Row row : plan.rows()) {
            if (row.output().isHalf() && !row.layer()) {
                DataType type = row.output().dataType().orElseThrow();
                network.castingVertex(row.name())
                        .ifPresent(casting -> vertices.add(new Vertex(casting, type, casting.getDataType())));
            }
        }
    }

    /**
     * Is called when a pass begins.
     *
     * @param wrappers whether wrappers compute it
     */
    void passBegins(boolean wrappers) {
        if (wrappers != ours) {
            ours = wrappers;
            vertices.forEach(vertex -> vertex.casting().setDataType(ours ? vertex.ours() : vertex.own()));
        }
    }

    @Override
    public void putIn() {
        // The next pass of wrappers sets the types.
    }

    @Override
    public void putBack() {
        passBegins(false);
    }
}
