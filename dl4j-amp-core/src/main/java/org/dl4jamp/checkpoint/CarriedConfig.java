package org.dl4jamp.checkpoint;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.layers.LayerConstraint;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.constraint.UnitNormConstraint;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.graph.LayerVertex;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.conf.layers.samediff.SameDiffVertex;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.AmpConfig;
import org.dl4jamp.AmpException;
import org.nd4j.linalg.learning.config.IUpdater;

/**
 * Settings of mixed precision inside a DL4J configuration, where they outlive JSON, YAML, {@code clone()} and DL4J's
 * model zip.
 *
 * <pre>
 * conf = CarriedConfig.attach(conf, AmpConfig.builder().precision(Precision.HALF).build());
 * CarriedConfig.read(MultiLayerConfiguration.fromJson(conf.toJson()));       // those settings
 * </pre>
 *
 * <p>DL4J's configuration classes keep no properties but their own, so the settings travel in one of those: as the
 * parameter name of a {@link UnitNormConstraint} on one layer. A constraint applies to the parameters that it names; no
 * parameter has a name like that, so plain DL4J keeps this one, writes it, reads it, and never applies it. One thing
 * loses them: DL4J's {@code TransferLearning} forgets the constraints of layers that it fine-tunes or freezes; attach
 * the settings to its result.
 */
public final class CarriedConfig {
    private static final String MARKER = "dl4j-amp ";

    private CarriedConfig() {}

    /**
     * A copy of a configuration that carries the settings, instead of any that it carried before. The configuration
     * itself stays as it is.
     *
     * @throws AmpException if the settings hold a rule by predicate or a user-written loss scaler
     */
    public static MultiLayerConfiguration attach(MultiLayerConfiguration configuration, AmpConfig config) {
        AmpException.ifNull(configuration, "configuration", "a MultiLayerConfiguration");
        String carried = carrying(config);
        MultiLayerConfiguration copy = configuration.clone();
        attach(layers(copy).toList(), carried);
        return copy;
    }

    /**
     * A copy of a configuration that carries the settings, instead of any that it carried before. The configuration
     * itself stays as it is.
     *
     * @throws AmpException if the settings hold a rule by predicate or a user-written loss scaler, or if the graph has
     *     no layers
     */
    public static ComputationGraphConfiguration attach(ComputationGraphConfiguration configuration, AmpConfig config) {
        AmpException.ifNull(configuration, "configuration", "a ComputationGraphConfiguration");
        String carried = carrying(config);
        ComputationGraphConfiguration copy = configuration.clone();
        // Its clone() forgets these, and that of attention vertices what the graph's defaults had filled in.
        configuration
                .getVertices()
                .forEach((name, vertex) ->
                        copyDefaults(vertex, copy.getVertices().get(name)));
        copy.setIterationCount(configuration.getIterationCount());
        copy.setEpochCount(configuration.getEpochCount());
        copy.setTopologicalOrder(configuration.getTopologicalOrder());
        copy.setTopologicalOrderStr(configuration.getTopologicalOrderStr());
        attach(layers(copy).toList(), carried);
        return copy;
    }

    private static void copyDefaults(GraphVertex from, GraphVertex to) {
        if (from instanceof SameDiffVertex source && to instanceof SameDiffVertex target) {
            target.setRegularization(source.getRegularization());
            target.setRegularizationBias(source.getRegularizationBias());
            target.setUpdater(copy(source.getUpdater()));
            target.setBiasUpdater(copy(source.getBiasUpdater()));
            target.setGradientNormalization(source.getGradientNormalization());
            target.setGradientNormalizationThreshold(source.getGradientNormalizationThreshold());
            target.setDataType(source.getDataType());
        }
    }

    private static IUpdater copy(IUpdater updater) {
        return updater == null ? null : updater.clone();
    }

    /**
     * The settings that a configuration carries, with a loss scaler of their own.
     *
     * @return empty if it carries none
     * @throws AmpException if they are corrupt or newer than this dl4j-amp, or name a layer class that can't be loaded
     */
    public static Optional<AmpConfig> read(MultiLayerConfiguration configuration) {
        AmpException.ifNull(configuration, "configuration", "a MultiLayerConfiguration");
        return read(layers(configuration));
    }

    /**
     * The settings that a configuration carries, with a loss scaler of their own.
     *
     * @return empty if it carries none
     * @throws AmpException if they are corrupt or newer than this dl4j-amp, or name a layer class that can't be loaded
     */
    public static Optional<AmpConfig> read(ComputationGraphConfiguration configuration) {
        AmpException.ifNull(configuration, "configuration", "a ComputationGraphConfiguration");
        return read(layers(configuration));
    }

    /**
     * The settings that a network's configuration carries, with a loss scaler of their own.
     *
     * @param network a {@link MultiLayerNetwork} or {@link ComputationGraph}
     * @return empty if it carries none
     * @throws AmpException as {@link #read(MultiLayerConfiguration)}
     */
    public static Optional<AmpConfig> of(Model network) {
        AmpException.ifNull(network, "network", "a MultiLayerNetwork or a ComputationGraph");
        return network instanceof MultiLayerNetwork layers
                ? read(layers.getLayerWiseConfigurations())
                : read(((ComputationGraph) network).getConfiguration());
    }

    private static String carrying(AmpConfig config) {
        AmpException.ifNull(config, "config", "an AmpConfig, such as AmpConfig.defaults()");
        return MARKER + AmpConfigJson.text(config);
    }

    private static Optional<AmpConfig> read(Stream<Layer> layers) {
        return layers.flatMap(layer -> constraints(layer).stream())
                .flatMap(constraint -> carried(constraint).stream())
                .findFirst()
                .map(carried -> AmpConfigJson.read(
                        carried.substring(MARKER.length()), "the dl4j-amp settings that the configuration carries"));
    }

    private static void attach(List<Layer> layers, String carried) {
        for (Layer layer : layers) {
            if (constraints(layer).stream()
                    .anyMatch(constraint -> carried(constraint).isPresent())) {
                layer.setConstraints(new ArrayList<>(constraints(layer).stream()
                        .filter(constraint -> carried(constraint).isEmpty())
                        .toList()));
            }
        }
        Layer carrier = layers.stream()
                // The constraints that are set on these replace those of the layer inside.
                .filter(layer -> !(layer instanceof FrozenLayer) && !(layer instanceof FrozenLayerWithBackprop))
                .findFirst()
                .or(() -> layers.stream().findFirst())
                .orElseThrow(() -> new AmpException(
                        "configuration: it has no layers, so nothing could compute in half precision; add a layer"));
        List<LayerConstraint> constraints = new ArrayList<>(constraints(carrier));
        constraints.add(new UnitNormConstraint(new HashSet<>(Set.of(carried))));
        carrier.setConstraints(constraints);
    }

    private static Optional<String> carried(LayerConstraint constraint) {
        Set<String> names = constraint.getParams();
        return names == null
                ? Optional.empty()
                : names.stream().filter(name -> name.startsWith(MARKER)).findFirst();
    }

    private static Collection<LayerConstraint> constraints(Layer layer) {
        return layer.getConstraints() == null ? List.of() : layer.getConstraints();
    }

    private static Stream<Layer> layers(MultiLayerConfiguration configuration) {
        return configuration.getConfs().stream().map(NeuralNetConfiguration::getLayer);
    }

    private static Stream<Layer> layers(ComputationGraphConfiguration configuration) {
        return configuration.getVertices().values().stream()
                .filter(LayerVertex.class::isInstance)
                .map(vertex -> ((LayerVertex) vertex).getLayerConf().getLayer());
    }
}
