package org.dl4jamp.onednn.vertex;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Arrays;
import java.util.Optional;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex.Op;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.graph.PreprocessorVertex;
import org.deeplearning4j.nn.conf.graph.ReshapeVertex;
import org.deeplearning4j.nn.conf.graph.ScaleVertex;
import org.deeplearning4j.nn.conf.graph.ShiftVertex;
import org.deeplearning4j.nn.conf.graph.SubsetVertex;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.preprocessor.CnnToFeedForwardPreProcessor;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.graph.vertex.VertexIndices;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.Chain;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.twin.Gate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Vertices against DL4J's own on the same numbers. */
class VerticesTest {
    private static final LayerWorkspaceMgr NONE = LayerWorkspaceMgr.noWorkspaces();

    /** A vertex outside any graph. */
    private static GraphVertex dl4j(org.deeplearning4j.nn.conf.graph.GraphVertex conf, int inputs, DataType type) {
        GraphVertex vertex = conf.instantiate(graph(), "v", 0, null, false, type);
        vertex.setInputVertices(new VertexIndices[inputs]);
        return vertex;
    }

    // Vertices read only the batch size from it.
    private static ComputationGraph graph() {
        ComputationGraphConfiguration configuration = new NeuralNetConfiguration.Builder()
                .graphBuilder()
                .addInputs("in")
                .addLayer("out", new OutputLayer.Builder().nIn(1).nOut(2).build(), "in")
                .setOutputs("out")
                .build();
        return new ComputationGraph(configuration) {
            @Override
            public int batchSize() {
                return 2;
            }
        };
    }

    private static INDArray[] as(DataType type, boolean channelsLast, INDArray... arrays) {
        return Arrays.stream(arrays)
                .map(array -> {
                    INDArray cast = channelsLast
                            ? Workspaces.channelsLast(
                                    NONE, org.deeplearning4j.nn.workspace.ArrayType.INPUT, type, array.shape())
                            : Workspaces.dense(
                                    NONE, org.deeplearning4j.nn.workspace.ArrayType.INPUT, type, array.shape());
                    return cast.assign(array);
                })
                .toArray(INDArray[]::new);
    }

    private static INDArray[] backward(GraphVertex vertex, INDArray epsilon) {
        vertex.setEpsilon(epsilon);
        return vertex.doBackward(false, NONE).getSecond();
    }

    private static void agrees(
            org.deeplearning4j.nn.conf.graph.GraphVertex conf,
            Random random,
            boolean channelsLast,
            INDArray... inputs) {
        GraphVertex own = dl4j(conf, inputs.length, DataType.FLOAT);
        own.setInputs(as(DataType.FLOAT, false, inputs));
        INDArray expected = own.doForward(true, NONE).dup();
        INDArray epsilon = gaussian(random, 1, expected.shape());
        INDArray[] gradients = backward(own, epsilon.dup());
        for (DataType type : Types.here()) {
            try (EngineSession session = new OneDnnEngine().session(1, true)) {
                GraphVertex twin = session.vertex(new VertexRequest(
                        "v",
                        dl4j(conf, inputs.length, type),
                        conf,
                        type,
                        type,
                        at -> at,
                        Chain.CONTEXT,
                        Optional.empty(),
                        new Gate()));
                assertInstanceOf(VertexTwin.class, twin);
                twin.setInputs(as(type, channelsLast, inputs));
                Agreement.assertRoundedOnce(type + " output", expected, twin.doForward(true, NONE));
                INDArray[] actual = backward(twin, as(type, !channelsLast, epsilon)[0]);
                assertEquals(gradients.length, actual.length);
                for (int i = 0; i < actual.length; i++) {
                    Agreement.assertRoundedOnce(type + " gradient " + i, gradients[i], actual[i]);
                }
            }
        }
    }

    @Property
    void combinesElementByElement(
            @ForAll long seed,
            @ForAll Op op,
            @ForAll @IntRange(min = 2, max = 4) int inputs,
            @ForAll @IntRange(min = 1, max = 19) int channels,
            @ForAll @IntRange(min = 1, max = 6) int height,
            @ForAll boolean channelsLast) {
        Random random = new Random(seed);
        int count = op == Op.Subtract ? 2 : inputs;
        long[] shape = seed % 3 == 0 ? new long[] {2, channels} : new long[] {2, channels, height, 3};
        INDArray[] arrays = new INDArray[count];
        Arrays.setAll(arrays, i -> gaussian(random, 1, shape));
        agrees(new ElementWiseVertex(op), random, channelsLast, arrays);
    }

    /** oneDNN takes 32 operations after the first. */
    @ParameterizedTest
    @CsvSource({"24, Add", "25, Average", "33, Add", "34, Add", "35, Average", "48, Max", "70, Average", "40, Product"})
    void combinesMoreArraysThanOnePassTakes(int inputs, Op op) {
        Random random = new Random(inputs);
        INDArray[] arrays = new INDArray[inputs];
        // A product of many normally distributed numbers would be next to nothing.
        Arrays.setAll(arrays, i -> op == Op.Product ? signs(random, 2, 5, 4, 3) : gaussian(random, 1, 2, 5, 4, 3));
        agrees(new ElementWiseVertex(op), random, inputs % 2 == 0, arrays);
    }

    private static INDArray signs(Random random, long... shape) {
        INDArray array = Nd4j.create(DataType.FLOAT, shape);
        for (long i = 0; i < array.length(); i++) {
            array.putScalar(i, random.nextBoolean() ? 1 : -1);
        }
        return array;
    }

    @Test
    void givesTheGradientOfAMaximumToTheFirstOfEqualInputs() {
        Random random = new Random(4);
        INDArray a = gaussian(random, 1, 2, 3, 2, 2);
        agrees(new ElementWiseVertex(Op.Max), random, true, a, a.dup(), gaussian(random, 1, 2, 3, 2, 2));
    }

    @Property
    void merges(
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 9) int first,
            @ForAll @IntRange(min = 1, max = 9) int second,
            @ForAll @IntRange(min = 2, max = 4) int rank,
            @ForAll boolean channelsLast) {
        Random random = new Random(seed);
        long[] shape = Arrays.copyOf(new long[] {2, first, 3, 4}, rank);
        long[] other = shape.clone();
        other[1] = second;
        agrees(
                new MergeVertex(),
                random,
                channelsLast,
                gaussian(random, 1, shape),
                gaussian(random, 1, other),
                gaussian(random, 1, shape));
    }

    @Property
    void scalesShiftsAndTakesSubsets(
            @ForAll long seed,
            @ForAll @IntRange(min = 4, max = 9) int channels,
            @ForAll @IntRange(max = 3) int from,
            @ForAll @IntRange(min = 2, max = 4) int rank,
            @ForAll boolean channelsLast) {
        Random random = new Random(seed);
        INDArray input = gaussian(random, 1, Arrays.copyOf(new long[] {2, channels, 3, 4}, rank));
        agrees(new ScaleVertex(-0.5), random, channelsLast, input);
        agrees(new ShiftVertex(1.25), random, channelsLast, input);
        agrees(new SubsetVertex(from, channels - 1), random, channelsLast, input);
    }

    @Test
    void reshapes() {
        Random random = new Random(8);
        INDArray input = gaussian(random, 1, 2, 6, 3, 4);
        agrees(new ReshapeVertex(2, 3, 6, 4), random, true, input);
        agrees(new PreprocessorVertex(new CnnToFeedForwardPreProcessor(3, 4, 6)), random, true, input);
    }

    @Test
    void leavesBroadcastingToDl4j() {
        Random random = new Random(9);
        agrees(new ElementWiseVertex(Op.Add), random, false, gaussian(random, 1, 2, 5), gaussian(random, 1, 2, 1));
    }

    @Test
    void answersBadShapesAsDl4jDoes() {
        INDArray[] inputs = {gaussian(new Random(1), 1, 2, 3), gaussian(new Random(2), 1, 2, 3, 4)};
        GraphVertex own = dl4j(new MergeVertex(), 2, DataType.FLOAT);
        own.setInputs(inputs);
        String expected = assertThrows(IllegalStateException.class, () -> own.doForward(true, NONE))
                .getMessage();
        try (EngineSession session = new OneDnnEngine().session(1, true)) {
            GraphVertex twin = session.vertex(new VertexRequest(
                    "v",
                    dl4j(new MergeVertex(), 2, DataType.FLOAT),
                    new MergeVertex(),
                    DataType.FLOAT,
                    DataType.FLOAT,
                    type -> type,
                    Chain.CONTEXT,
                    Optional.empty(),
                    new Gate()));
            twin.setInputs(inputs);
            assertEquals(
                    expected,
                    assertThrows(IllegalStateException.class, () -> twin.doForward(true, NONE))
                            .getMessage());
        }
    }
}
