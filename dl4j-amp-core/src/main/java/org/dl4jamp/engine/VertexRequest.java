package org.dl4jamp.engine;

import java.util.Optional;
import java.util.function.UnaryOperator;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.twin.Gate;
import org.dl4jamp.twin.LayerContext;
import org.nd4j.linalg.api.buffer.DataType;

/**
 * A request to an engine for a vertex that it computes in place of DL4J.
 *
 * @param name the vertex's name in the plan
 * @param master the graph's own vertex
 * @param configuration its configuration
 * @param type the type of its output, and of its inputs if it preserves the type
 * @param storage the half type of activations in this network; FLOAT if there is none
 * @param gradientType the type of the gradient of an input of a type, in the backward pass in progress
 * @param context the nodes before and after it
 * @param fusion the fusion that it takes part in, if it does
 * @param gate entered by each of its passes
 */
public record VertexRequest(
        String name,
        GraphVertex master,
        org.deeplearning4j.nn.conf.graph.GraphVertex configuration,
        DataType type,
        DataType storage,
        UnaryOperator<DataType> gradientType,
        LayerContext context,
        Optional<PrecisionPlan.Fusion> fusion,
        Gate gate) {}
