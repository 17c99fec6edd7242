package org.dl4jamp.parallel;

import java.util.Optional;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.AmpException;

/** Enables replicas, and refuses models that can't be enabled. */
final class Enabling {
    private Enabling() {}

    /** Enables it with these settings, or else those that the network's configuration carries, or the defaults. */
    static MixedPrecision enable(Model network, Optional<AmpConfig> config) {
        return config.map(settings -> MixedPrecision.enable(network, settings))
                .orElseGet(() -> MixedPrecision.enable(network));
    }

    /**
     * Puts it into inference mode, with what of these settings is for inference, or else with those that the network's
     * configuration carries, or the defaults.
     */
    static InferenceMode infer(Model network, Optional<AmpConfig> config) {
        return config.map(settings -> MixedPrecision.inference(network, settings.forInference()))
                .orElseGet(() -> MixedPrecision.inference(network));
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
