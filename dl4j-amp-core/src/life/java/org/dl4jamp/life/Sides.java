package org.dl4jamp.life;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Helpers for both kinds of network. */
final class Sides {
    private Sides() {}

    static MixedPrecision enable(Model network, AmpConfig config) {
        return network instanceof MultiLayerNetwork layers
                ? MixedPrecision.enable(layers, config)
                : MixedPrecision.enable((ComputationGraph) network, config);
    }

    static INDArray updaterState(Model network) {
        return network instanceof MultiLayerNetwork layers
                ? layers.getUpdater().getStateViewArray()
                : ((ComputationGraph) network).getUpdater().getStateViewArray();
    }
}
