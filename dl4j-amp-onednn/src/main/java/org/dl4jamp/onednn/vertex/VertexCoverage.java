package org.dl4jamp.onednn.vertex;

import java.util.Map;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.graph.PreprocessorVertex;
import org.deeplearning4j.nn.conf.graph.ReshapeVertex;
import org.deeplearning4j.nn.conf.graph.ScaleVertex;
import org.deeplearning4j.nn.conf.graph.ShiftVertex;
import org.deeplearning4j.nn.conf.graph.SubsetVertex;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.GroupSum;

/** The vertices that this engine computes. */
public final class VertexCoverage {
    /** A factory of vertices' twins. */
    private interface Maker {
        VertexTwin make(GraphVertex vertex, VertexRequest request, OneDnnContext context);
    }

    private static final Map<Class<?>, Maker> MAKERS = Map.of(
            ElementWiseVertex.class,
            (vertex, request, context) -> new ElementWiseTwin(request, ((ElementWiseVertex) vertex).getOp(), context),
            MergeVertex.class,
            (vertex, request, context) -> new MergeTwin(request, ((MergeVertex) vertex).getMergeAxis(), context),
            ScaleVertex.class,
            (vertex, request, context) -> new LinearTwin(request, ((ScaleVertex) vertex).getScaleFactor(), 0, context),
            ShiftVertex.class,
            (vertex, request, context) -> new LinearTwin(request, 1, ((ShiftVertex) vertex).getShiftFactor(), context),
            SubsetVertex.class,
            (vertex, request, context) -> subset((SubsetVertex) vertex, request, context),
            ReshapeVertex.class,
            (vertex, request, context) -> new ReorderedVertex(request, context),
            PreprocessorVertex.class,
            (vertex, request, context) -> new ReorderedVertex(request, context));

    private VertexCoverage() {}

    /** Returns whether there is something to stand for a vertex. Subclasses may compute anything, and have nothing. */
    public static boolean has(GraphVertex vertex) {
        return MAKERS.containsKey(vertex.getClass());
    }

    public static VertexTwin make(VertexRequest request, OneDnnContext context) {
        GraphVertex vertex = request.configuration();
        return MAKERS.get(vertex.getClass()).make(vertex, request, context);
    }

    /**
     * Makes the twin of a group's vertex that adds two arrays.
     *
     * @param summand number of the input that isn't the head's
     */
    public static VertexTwin sum(VertexRequest request, GroupSum sum, int summand, OneDnnContext context) {
        ElementWiseTwin twin = new ElementWiseTwin(request, ElementWiseVertex.Op.Add, context);
        twin.follow(sum, summand);
        return twin;
    }

    private static VertexTwin subset(SubsetVertex vertex, VertexRequest request, OneDnnContext context) {
        return new SubsetTwin(request, vertex.getFrom(), vertex.getTo() - vertex.getFrom() + 1L, context);
    }
}
