package org.dl4jamp.dl4j;

import static org.junit.jupiter.api.Assertions.assertSame;

import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.graph.vertex.impl.FrozenVertex;
import org.dl4jamp.Networks;
import org.junit.jupiter.api.Test;

class HiddenFieldsTest {
    @Test
    void aFrozenVertexIsAroundTheOneThatComputes() {
        ComputationGraph graph = Networks.init(Networks.residual());
        GraphVertex add = graph.getVertex("add");
        assertSame(add, HiddenFields.underlying(new FrozenVertex(add)));
    }
}
