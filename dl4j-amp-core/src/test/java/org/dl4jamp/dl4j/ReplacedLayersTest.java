package org.dl4jamp.dl4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.Arrays;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.graph.vertex.impl.LayerVertex;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.Networks;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.ndarray.INDArray;

/** What is put into a network is returned by its getters and computes. */
class ReplacedLayersTest {
    @Test
    void aLayerOfAMultiLayerNetwork() {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        INDArray features = Networks.vectors(4, 20, 3).getFeatures();
        MultiLayerNetwork zeroed = network.clone();
        zeroed.getLayer(1).params().assign(0);
        Layer layer = zeroed.getLayer(1);
        INDArray before = network.output(features).dup();
        HiddenFields.replaceLayer(network, 1, layer);
        assertSame(layer, network.getLayer(1));
        assertSame(layer, network.getLayers()[1]);
        assertSame(layer, network.getLayer(network.getLayerNames().get(1)));
        assertEquals(zeroed.output(features), network.output(features));
        assertNotEquals(before, network.output(features));
    }

    @Test
    void aLayerOfAGraph() {
        ComputationGraph graph = Networks.init(Networks.residual());
        INDArray features = Networks.images(2, 3, 8, 3).getFeatures();
        ComputationGraph zeroed = graph.clone();
        zeroed.getLayer("left").params().assign(0);
        Layer layer = zeroed.getLayer("left");
        INDArray before = graph.outputSingle(features).dup();
        LayerVertex vertex = (LayerVertex) graph.getVertex("left");
        Layer replaced = vertex.getLayer();
        HiddenFields.replaceLayer(graph, vertex, layer);
        assertSame(layer, graph.getLayer("left"));
        assertEquals(
                1,
                Arrays.stream(graph.getLayers()).filter(each -> each == layer).count());
        assertEquals(
                0,
                Arrays.stream(graph.getLayers())
                        .filter(each -> each == replaced)
                        .count());
        assertEquals(zeroed.outputSingle(features), graph.outputSingle(features));
        assertNotEquals(before, graph.outputSingle(features));
    }

    @Test
    void aVertexOfAGraph() {
        ComputationGraph graph = Networks.init(Networks.residual());
        INDArray features = Networks.images(2, 3, 8, 3).getFeatures();
        INDArray before = graph.outputSingle(features).dup();
        GraphVertex add = graph.getVertex("add");
        int index = add.getVertexIndex();
        GraphVertex half = new org.deeplearning4j.nn.graph.vertex.impl.ElementWiseVertex(
                graph,
                "add",
                index,
                add.getInputVertices(),
                add.getOutputVertices(),
                org.deeplearning4j.nn.graph.vertex.impl.ElementWiseVertex.Op.Average,
                graph.getConfiguration().getDefaultConfiguration().getDataType());
        graph.getVertices()[index] = half;
        assertSame(half, graph.getVertices()[index]);
        assertNotEquals(before, graph.outputSingle(features));
    }
}
