package org.dl4jamp.gradient;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;

/** Access to the loss that a network reports. */
public final class Score {
    private Score() {}

    public static void set(Model model, double score) {
        if (model instanceof MultiLayerNetwork network) {
            network.setScore(score);
        } else {
            ((ComputationGraph) model).setScore(score);
        }
    }
}
