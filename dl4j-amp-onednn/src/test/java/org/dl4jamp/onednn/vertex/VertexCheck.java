package org.dl4jamp.onednn.vertex;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.graph.vertex.VertexIndices;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.Chain;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.twin.Gate;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Compares a vertex' twin with DL4J's vertex on the same numbers.
 *
 * @param graph of both
 * @param types of the twin's arrays
 */
record VertexCheck(ComputationGraph graph, List<DataType> types) {
    private static final LayerWorkspaceMgr NONE = LayerWorkspaceMgr.noWorkspaces();

    /** Makes a check in all types of this engine. */
    VertexCheck(ComputationGraph graph) {
        this(graph, Types.here());
    }

    /** Orders of arrays in memory. */
    enum Order {
        DENSE,
        CHANNELS_LAST,
        /** Sequences time step by time step; other arrays with their channels last. */
        STEP_BY_STEP;

        private INDArray as(DataType type, INDArray array) {
            INDArray copy =
                    switch (this) {
                        case DENSE -> Workspaces.dense(NONE, ArrayType.INPUT, type, array.shape());
                        case STEP_BY_STEP ->
                            array.rank() == 3
                                    ? TimeSteps.create(
                                            NONE, ArrayType.INPUT, type, array.size(0), array.size(1), array.size(2))
                                    : Workspaces.channelsLast(NONE, ArrayType.INPUT, type, array.shape());
                        case CHANNELS_LAST -> Workspaces.channelsLast(NONE, ArrayType.INPUT, type, array.shape());
                    };
            return copy.assign(array);
        }
    }

    /** Returns a graph of which vertices read the input "in", its mask and the batch size. */
    static ComputationGraph graph(int batchSize) {
        ComputationGraphConfiguration configuration = new NeuralNetConfiguration.Builder()
                .graphBuilder()
                .addInputs("in")
                .addLayer("out", new OutputLayer.Builder().nIn(1).nOut(2).build(), "in")
                .setOutputs("out")
                .build();
        return new ComputationGraph(configuration) {
            @Override
            public int batchSize() {
                return batchSize;
            }
        };
    }

    /** Returns DL4J's vertex, outside of the graph. */
    GraphVertex dl4j(org.deeplearning4j.nn.conf.graph.GraphVertex conf, int inputs, DataType type) {
        GraphVertex vertex = conf.instantiate(graph, "v", 0, null, false, type);
        vertex.setInputVertices(new VertexIndices[inputs]);
        return vertex;
    }

    private static INDArray[] as(DataType type, Order order, INDArray... arrays) {
        return Arrays.stream(arrays).map(array -> order.as(type, array)).toArray(INDArray[]::new);
    }

    private static INDArray[] backward(GraphVertex vertex, INDArray epsilon) {
        vertex.setEpsilon(epsilon);
        return vertex.doBackward(false, NONE).getSecond();
    }

    void agrees(
            org.deeplearning4j.nn.conf.graph.GraphVertex conf,
            Random random,
            boolean channelsLast,
            INDArray... inputs) {
        agrees(conf, random, channelsLast ? Order.CHANNELS_LAST : Order.DENSE, inputs);
    }

    /** @param order of the inputs; gradients come in another one */
    void agrees(org.deeplearning4j.nn.conf.graph.GraphVertex conf, Random random, Order order, INDArray... inputs) {
        GraphVertex own = dl4j(conf, inputs.length, DataType.FLOAT);
        own.setInputs(as(DataType.FLOAT, Order.DENSE, inputs));
        INDArray expected = own.doForward(true, NONE).dup();
        INDArray epsilon = gaussian(random, 1, expected.shape());
        agrees(conf, order, expected, epsilon, backward(own, epsilon.dup()), inputs);
    }

    /** Compares in FP32 only. */
    void agreesInFloat(
            org.deeplearning4j.nn.conf.graph.GraphVertex conf,
            Random random,
            boolean channelsLast,
            INDArray... inputs) {
        new VertexCheck(graph, List.of(DataType.FLOAT)).agrees(conf, random, channelsLast, inputs);
    }

    /** Compares a vertex' twin with results that were computed otherwise. */
    void agrees(
            org.deeplearning4j.nn.conf.graph.GraphVertex conf,
            Order order,
            INDArray expected,
            INDArray epsilon,
            INDArray[] gradients,
            INDArray... inputs) {
        Order another = order == Order.DENSE ? Order.STEP_BY_STEP : Order.DENSE;
        for (DataType type : types) {
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
                twin.setInputs(as(type, order, inputs));
                Agreement.assertRoundedOnce(type + " output", expected, twin.doForward(true, NONE));
                INDArray[] actual = backward(twin, as(type, another, epsilon)[0]);
                assertEquals(gradients.length, actual.length);
                for (int i = 0; i < actual.length; i++) {
                    Agreement.assertRoundedOnce(type + " gradient " + i, gradients[i], actual[i]);
                }
            }
        }
    }
}
