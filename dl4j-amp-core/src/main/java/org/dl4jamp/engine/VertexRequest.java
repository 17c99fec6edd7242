package org.dl4jamp.engine;

import java.util.Optional;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.twin.Gate;
import org.dl4jamp.twin.LayerContext;
import org.nd4j.linalg.api.buffer.DataType;

/**
 * A request to an engine for a vertex that it computes in place of DL4J.
 *
 * @param name the vertex's name in the plan
 * @param master the graph's own vertex, without parameters
 * @param configuration its configuration
 * @param type the type of its inputs and its output
 * @param context the nodes before and after it
 * @param fusion the fusion that it takes part in, if it does
 * @param gate entered by each of its passes
 */
public record VertexRequest(
        String name,
        GraphVertex master,
        org.deeplearning4j.nn.conf.graph.GraphVertex configuration,
        DataType type,
        LayerContext context,
        Optional<PrecisionPlan.Fusion> fusion,
        Gate gate) {}
