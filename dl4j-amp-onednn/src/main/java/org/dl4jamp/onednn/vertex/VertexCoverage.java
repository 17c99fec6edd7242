package org.dl4jamp.onednn.vertex;

import java.util.Map;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.graph.L2NormalizeVertex;
import org.deeplearning4j.nn.conf.graph.L2Vertex;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.graph.PoolHelperVertex;
import org.deeplearning4j.nn.conf.graph.PreprocessorVertex;
import org.deeplearning4j.nn.conf.graph.ReshapeVertex;
import org.deeplearning4j.nn.conf.graph.ScaleVertex;
import org.deeplearning4j.nn.conf.graph.ShiftVertex;
import org.deeplearning4j.nn.conf.graph.StackVertex;
import org.deeplearning4j.nn.conf.graph.SubsetVertex;
import org.deeplearning4j.nn.conf.graph.UnstackVertex;
import org.deeplearning4j.nn.conf.graph.rnn.DuplicateToTimeSeriesVertex;
import org.deeplearning4j.nn.conf.graph.rnn.LastTimeStepVertex;
import org.deeplearning4j.nn.conf.graph.rnn.ReverseTimeSeriesVertex;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.GroupSum;

/** The vertices that this engine computes. */
public final class VertexCoverage {
    /** A factory of the twins of one class of vertices. */
    private interface Maker<V> {
        VertexTwin make(V vertex, VertexRequest request, OneDnnContext context);
    }

    private static final Map<Class<?>, Maker<GraphVertex>> MAKERS = Map.ofEntries(
            of(
                    ElementWiseVertex.class,
                    (vertex, request, context) -> new ElementWiseTwin(request, vertex.getOp(), context)),
            of(MergeVertex.class, (vertex, request, context) -> new MergeTwin(request, vertex.getMergeAxis(), context)),
            of(
                    ScaleVertex.class,
                    (vertex, request, context) -> new LinearTwin(request, vertex.getScaleFactor(), 0, context)),
            of(
                    ShiftVertex.class,
                    (vertex, request, context) -> new LinearTwin(request, 1, vertex.getShiftFactor(), context)),
            of(SubsetVertex.class, VertexCoverage::subset),
            of(ReshapeVertex.class, (vertex, request, context) -> new ReorderedVertex(request, context)),
            of(PreprocessorVertex.class, (vertex, request, context) -> new ReorderedVertex(request, context)),
            of(StackVertex.class, (vertex, request, context) -> new StackTwin(request, context)),
            of(
                    UnstackVertex.class,
                    (vertex, request, context) ->
                            new UnstackTwin(request, vertex.getFrom(), vertex.getStackSize(), context)),
            of(PoolHelperVertex.class, (vertex, request, context) -> new PoolHelperTwin(request, context)),
            of(L2Vertex.class, (vertex, request, context) -> new DistanceTwin(request, context)),
            of(L2NormalizeVertex.class, (vertex, request, context) -> new UnitLengthTwin(request, vertex, context)),
            of(
                    LastTimeStepVertex.class,
                    (vertex, request, context) ->
                            new LastTimeStepTwin(request, vertex.getMaskArrayInputName(), context)),
            of(
                    ReverseTimeSeriesVertex.class,
                    (vertex, request, context) -> new ReversalTwin(request, vertex.getMaskArrayInputName(), context)),
            of(
                    DuplicateToTimeSeriesVertex.class,
                    (vertex, request, context) -> new DuplicationTwin(request, vertex.getInputName(), context)));

    private VertexCoverage() {}

    private static <V extends GraphVertex> Map.Entry<Class<?>, Maker<GraphVertex>> of(Class<V> type, Maker<V> maker) {
        return Map.entry(type, (vertex, request, context) -> maker.make(type.cast(vertex), request, context));
    }

    /** Returns whether there is something to stand for a vertex. Subclasses may compute anything, and have nothing. */
    public static boolean has(GraphVertex vertex) {
        return MAKERS.containsKey(vertex.getClass());
    }

    /** Returns the classes of vertices that have twins. */
    public static Stream<Class<?>> types() {
        return MAKERS.keySet().stream();
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
