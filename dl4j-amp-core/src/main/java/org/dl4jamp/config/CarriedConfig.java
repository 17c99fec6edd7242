package org.dl4jamp.config;

import java.util.Optional;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.dl4j.CarriedText;
import org.dl4jamp.precision.AmpException;

/**
 * Settings of mixed precision inside a DL4J configuration, where they outlive JSON, YAML, {@code clone()} and DL4J's
 * model zip.
 *
 * <p>One thing loses them: DL4J's {@code TransferLearning}, see {@link CarriedText}; attach them to its result.
 */
public final class CarriedConfig {
    private CarriedConfig() {}

    /**
     * Returns a copy of a configuration that carries the settings, instead of any that it carried before.
     *
     * @throws AmpException if the settings hold a rule by predicate or a user-written loss scaler
     */
    public static MultiLayerConfiguration attach(MultiLayerConfiguration configuration, AmpConfig config) {
        AmpException.ifNull(configuration, "configuration", "a MultiLayerConfiguration");
        return CarriedText.attach(configuration, AmpConfigJson.text(config));
    }

    /**
     * As {@link #attach(MultiLayerConfiguration, AmpConfig)}, for a graph.
     *
     * @throws AmpException also if the graph has no layers
     */
    public static ComputationGraphConfiguration attach(ComputationGraphConfiguration configuration, AmpConfig config) {
        AmpException.ifNull(configuration, "configuration", "a ComputationGraphConfiguration");
        return CarriedText.attach(configuration, AmpConfigJson.text(config));
    }

    /**
     * Returns the settings that a configuration carries, with a loss scaler of their own.
     *
     * @return empty if it carries none
     * @throws AmpException if they are corrupt or newer than this dl4j-amp, or name a layer class that can't be loaded
     */
    public static Optional<AmpConfig> read(MultiLayerConfiguration configuration) {
        AmpException.ifNull(configuration, "configuration", "a MultiLayerConfiguration");
        return CarriedText.read(configuration).map(CarriedConfig::config);
    }

    /** As {@link #read(MultiLayerConfiguration)}, for a graph. */
    public static Optional<AmpConfig> read(ComputationGraphConfiguration configuration) {
        AmpException.ifNull(configuration, "configuration", "a ComputationGraphConfiguration");
        return CarriedText.read(configuration).map(CarriedConfig::config);
    }

    /**
     * As {@link #read(MultiLayerConfiguration)}, of a network.
     *
     * @param network a {@link MultiLayerNetwork} or {@link ComputationGraph}
     */
    public static Optional<AmpConfig> of(Model network) {
        AmpException.ifNull(network, "network", "a MultiLayerNetwork or a ComputationGraph");
        return network instanceof MultiLayerNetwork layers
                ? read(layers.getLayerWiseConfigurations())
                : read(((ComputationGraph) network).getConfiguration());
    }

    private static AmpConfig config(String text) {
        return AmpConfigJson.read(text, "the dl4j-amp settings that the configuration carries");
    }
}
