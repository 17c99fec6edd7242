package org.dl4jamp.step;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;

/** What a network says its loss is. */
final class Score {
    private Score() {}

    static void set(Model model, double score) {
        if (model instanceof MultiLayerNetwork network) {
            network.setScore(score);
        } else {
            ((ComputationGraph) model).setScore(score);
        }
    }
}
