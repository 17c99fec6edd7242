package org.dl4jamp.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
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
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.preprocessor.CnnToFeedForwardPreProcessor;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.BaseGraphVertex;
import org.deeplearning4j.nn.graph.vertex.VertexIndices;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.Networks;
import org.dl4jamp.precision.LayerKind;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** DL4J's own vertices of kind FOLLOW compute and return the type that is set. */
class VertexTypesTest {
    private static final long[] FLAT = {2, 4};
    private static final long[] SERIES = {2, 4, 3};
    private static final long[] IMAGE = {2, 4, 3, 3};

    private static final Map<GraphVertex, List<long[]>> VERTICES = vertices();

    @ParameterizedTest
    @MethodSource("verticesAndTypes")
    void aFollowingVertexPreservesTheTypeForwardAndBackward(GraphVertex vertex, List<long[]> shapes, DataType type) {
        BaseGraphVertex built = built(vertex, shapes.size());
        built.setDataType(type);
        LayerWorkspaceMgr workspaces = LayerWorkspaceMgr.noWorkspaces();
        for (int i = 0; i < shapes.size(); i++) {
            built.setInput(i, Networks.uniform(i + 1, shapes.get(i)).castTo(type), workspaces);
        }

        INDArray output = built.doForward(true, workspaces);
        assertEquals(type, output.dataType());

        built.setEpsilon(Nd4j.ones(type, output.shape()));
        for (INDArray epsilon : built.doBackward(false, workspaces).getSecond()) {
            assertEquals(type, epsilon.dataType());
        }
    }

    @Test
    void everyVertexThatFollowsIsTested() throws Exception {
        Set<Class<?>> tested = VERTICES.keySet().stream().map(Object::getClass).collect(Collectors.toSet());
        List<Class<?>> untested = LayerKindsTest.concreteClasses(GraphVertex.class::isAssignableFrom).stream()
                .filter(type -> LayerTable.family(type).kind() == LayerKind.FOLLOW && !tested.contains(type))
                .toList();

        assertEquals(List.of(), untested);
        assertTrue(VERTICES.keySet().stream()
                .allMatch(vertex -> LayerKinds.verdict(vertex).kind() == LayerKind.FOLLOW));
    }

    static Stream<Arguments> verticesAndTypes() {
        return VERTICES.entrySet().stream().flatMap(entry -> Stream.of(DataType.HALF, DataType.BFLOAT16)
                .map(type -> Arguments.of(entry.getKey(), entry.getValue(), type)));
    }

    private static Map<GraphVertex, List<long[]>> vertices() {
        return Map.ofEntries(
                Map.entry(new ElementWiseVertex(ElementWiseVertex.Op.Add), List.of(IMAGE, IMAGE, IMAGE)),
                Map.entry(new ElementWiseVertex(ElementWiseVertex.Op.Subtract), List.of(IMAGE, IMAGE)),
                Map.entry(new ElementWiseVertex(ElementWiseVertex.Op.Product), List.of(IMAGE, new long[] {2, 4, 1, 1})),
                Map.entry(new ElementWiseVertex(ElementWiseVertex.Op.Average), List.of(IMAGE, IMAGE)),
                Map.entry(new ElementWiseVertex(ElementWiseVertex.Op.Max), List.of(IMAGE, IMAGE)),
                Map.entry(new MergeVertex(), List.of(IMAGE, IMAGE)),
                Map.entry(new StackVertex(), List.of(SERIES, new long[] {2, 4, 5})),
                Map.entry(new UnstackVertex(0, 2), List.of(SERIES)),
                Map.entry(new SubsetVertex(1, 2), List.of(FLAT)),
                Map.entry(new ReshapeVertex(2, 36), List.of(IMAGE)),
                Map.entry(new ScaleVertex(0.5), List.of(IMAGE)),
                Map.entry(new ShiftVertex(0.5), List.of(IMAGE)),
                Map.entry(new PoolHelperVertex(), List.of(IMAGE)),
                Map.entry(new DuplicateToTimeSeriesVertex("x"), List.of(FLAT)),
                Map.entry(new LastTimeStepVertex("x"), List.of(SERIES)),
                Map.entry(new ReverseTimeSeriesVertex("x"), List.of(SERIES)),
                Map.entry(new PreprocessorVertex(new CnnToFeedForwardPreProcessor(3, 3, 4)), List.of(IMAGE)));
    }

    private static BaseGraphVertex built(GraphVertex vertex, int inputs) {
        ComputationGraph network = Networks.init(Plans.graph("x")
                .addLayer("out", new RnnOutputLayer.Builder().nIn(4).nOut(4).build(), "x")
                .setOutputs("out")
                .build());
        network.setInput(0, Networks.uniform(9, SERIES));
        network.setLayerMaskArrays(new INDArray[] {Nd4j.ones(2, 3)}, null);
        BaseGraphVertex built = (BaseGraphVertex) vertex.instantiate(network, "v", 0, null, true, DataType.FLOAT);
        built.setInputVertices(
                Stream.generate(() -> new VertexIndices(0, 0)).limit(inputs).toArray(VertexIndices[]::new));
        return built;
    }
}
