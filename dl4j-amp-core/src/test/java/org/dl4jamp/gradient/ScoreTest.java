package org.dl4jamp.gradient;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.step.SmallSteps;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.learning.config.Sgd;

class ScoreTest {
    @Test
    void eitherKindOfNetworkTakesAScore() {
        MultiLayerNetwork layers = SmallSteps.network(new Sgd(1));
        AmpNetwork.of(layers).setScore(0.25);
        assertEquals(0.25, layers.score());
        var graph = layers.toComputationGraph();
        AmpNetwork.of(graph).setScore(0.75);
        assertEquals(0.75, graph.score());
    }
}
