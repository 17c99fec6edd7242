package org.dl4jamp.inspect.report;

import java.util.Optional;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.config.AmpConfigJson;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.AmpException;

/**
 * A network and its mixed precision, at one moment. Holds no array of it.
 *
 * @param kind MultiLayerNetwork or ComputationGraph
 * @param layers number of layers, without other vertices
 * @param parameters number of parameters
 * @param amp its mixed precision; empty without
 */
record Setup(String kind, int layers, long parameters, Optional<Amp> amp) {
    /**
     * The mixed precision of a network.
     *
     * @param engine name of the engine in use
     * @param plan precision and engine of each layer
     * @param config the settings in force
     * @param scaler the loss scaler, with its state
     */
    record Amp(String engine, PrecisionPlan plan, AmpConfig config, String scaler) {
        static Amp of(MixedPrecision amp) {
            return new Amp(
                    amp.engine(), amp.plan(), amp.config(), amp.lossScaler().toString());
        }

        /** Returns the settings as JSON; empty if they hold code, such as a rule by predicate. */
        Optional<String> json() {
            try {
                return Optional.of(AmpConfigJson.write(config).toPrettyString());
            } catch (AmpException e) {
                return Optional.empty();
            }
        }

        /** Returns whether there is a layer in half precision. */
        boolean isMixed() {
            return plan.anyHalf();
        }
    }

    static Setup of(Model model) {
        Optional<Amp> amp = MixedPrecision.of(model).map(Amp::of);
        long parameters = model.numParams();
        return model instanceof MultiLayerNetwork network
                ? new Setup("MultiLayerNetwork", network.getnLayers(), parameters, amp)
                : new Setup("ComputationGraph", ((ComputationGraph) model).getNumLayers(), parameters, amp);
    }

    /** Returns this setup with a mixed precision as it is now. */
    Setup with(MixedPrecision present) {
        return new Setup(kind, layers, parameters, Optional.of(Amp.of(present)));
    }
}
