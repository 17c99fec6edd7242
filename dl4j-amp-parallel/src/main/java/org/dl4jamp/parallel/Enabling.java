package org.dl4jamp.parallel;

import java.util.Optional;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.AmpConfig;
import org.dl4jamp.AmpException;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.checkpoint.AmpState;

/** {@link MixedPrecision#enable} for either kind of network. */
final class Enabling {
    private Enabling() {}

    /** Enables it and goes on from a state. */
    static MixedPrecision enable(Model network, AmpState state) {
        return network instanceof ComputationGraph graph
                ? MixedPrecision.enable(graph, state)
                : MixedPrecision.enable((MultiLayerNetwork) network, state);
    }

    /** Enables it with these settings, or else those that the network's configuration carries, or the defaults. */
    static MixedPrecision enable(Model network, Optional<AmpConfig> config) {
        if (network instanceof ComputationGraph graph) {
            return config.isPresent() ? MixedPrecision.enable(graph, config.get()) : MixedPrecision.enable(graph);
        }
        MultiLayerNetwork layers = (MultiLayerNetwork) network;
        return config.isPresent() ? MixedPrecision.enable(layers, config.get()) : MixedPrecision.enable(layers);
    }

    /**
     * Refuses a model that is neither.
     *
     * @param argument its name, for the message
     */
    static void requireNetwork(Model model, String argument) {
        if (!(model instanceof MultiLayerNetwork || model instanceof ComputationGraph)) {
            throw new AmpException(argument + ": a " + model.getClass().getName()
                    + "; only a MultiLayerNetwork or a ComputationGraph can run in mixed precision");
        }
    }
}
