package org.dl4jamp.dl4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.graph.vertex.impl.FrozenVertex;
import org.deeplearning4j.nn.layers.recurrent.BaseRecurrentLayer;
import org.dl4jamp.Networks;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

class HiddenFieldsTest {
    @Test
    void aFrozenVertexIsAroundTheOneThatComputes() {
        ComputationGraph graph = Networks.init(Networks.residual());
        GraphVertex add = graph.getVertex("add");
        assertSame(add, HiddenFields.underlying(new FrozenVertex(add)));
    }

    @Test
    void layersThatShareTheirMapsHaveEachOthersState() {
        BaseRecurrentLayer<?> from = layer();
        BaseRecurrentLayer<?> to = layer();
        assertFalse(HiddenFields.isStateShared(from, to));
        HiddenFields.shareState(from, to);
        assertTrue(HiddenFields.isStateShared(from, to));
        INDArray between = Nd4j.ones(DataType.FLOAT, 1, 2);
        INDArray truncated = Nd4j.zeros(DataType.FLOAT, 1, 2);
        to.rnnSetPreviousState(Map.of("prevAct", between));
        from.rnnSetTBPTTState(Map.of("prevAct", truncated));
        assertEquals(Map.of("prevAct", between), from.rnnGetPreviousState());
        assertEquals(Map.of("prevAct", truncated), to.rnnGetTBPTTState());
    }

    private static BaseRecurrentLayer<?> layer() {
        return (BaseRecurrentLayer<?>) Networks.init(Networks.lstm()).getLayer(0);
    }
}
