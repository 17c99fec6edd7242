package org.dl4jamp.dl4j;

import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.graph.vertex.impl.FrozenVertex;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.Networks;
import org.junit.jupiter.api.Test;

class HiddenFieldsTest {
    @Test
    void aLayerIsFoundByNameWhereItWasReplaced() {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        Layer stranger = network.clone().getLayer(1);
        Layer before = network.getLayer(1);
        String name = network.getLayerNames().get(1);
        HiddenFields.replaceByName(network, stranger, before);
        assertSame(before, network.getLayer(name));
        HiddenFields.replaceByName(network, before, stranger);
        assertSame(stranger, network.getLayer(name));
        assertNotSame(stranger, network.getLayer(network.getLayerNames().get(0)));
    }

    @Test
    void aFrozenVertexIsAroundTheOneThatComputes() {
        ComputationGraph graph = Networks.init(Networks.residual());
        GraphVertex add = graph.getVertex("add");
        assertSame(add, HiddenFields.underlying(new FrozenVertex(add)));
    }
}
