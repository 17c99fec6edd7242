package org.dl4jamp.config;

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
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.learning.config.IUpdater;

/**
 * Settings of mixed precision inside a DL4J configuration, where they outlive JSON, YAML, {@code clone()} and DL4J's
 * model zip.
 *
 * <p>DL4J's configuration classes keep no properties but their own, so the settings travel in one of those: as the
 * parameter name of a {@link UnitNormConstraint} on one layer. A constraint applies to the parameters that it names; no
 * parameter has a name like that, so plain DL4J keeps this one, writes it, reads it, and never applies it. One thing
 * loses it: DL4J's {@code TransferLearning} forgets the constraints of layers that it fine-tunes or freezes. Attach
 * settings to its result.
 */
public final class CarriedConfig {
    private static final String MARKER = "dl4j-amp ";

    private CarriedConfig() {}

    /**
     * Returns a copy of a configuration that carries the settings, instead of any that it carried before.
     *
     * @throws AmpException if the settings hold a rule by predicate or a user-written loss scaler
     */
    public static MultiLayerConfiguration attach(MultiLayerConfiguration configuration, AmpConfig config) {
        AmpException.ifNull(configuration, "configuration", "a MultiLayerConfiguration");
        MultiLayerConfiguration copy = configuration.clone();
        attach(layers(copy).toList(), AmpConfigJson.text(config));
        return copy;
    }

    /**
     * As {@link #attach(MultiLayerConfiguration, AmpConfig)}, for a graph.
     *
     * @throws AmpException also if the graph has no layers
     */
    public static ComputationGraphConfiguration attach(ComputationGraphConfiguration configuration, AmpConfig config) {
        AmpException.ifNull(configuration, "configuration", "a ComputationGraphConfiguration");
        ComputationGraphConfiguration copy = configuration.clone();
        // Its clone() forgets these, and what is in its vertices.
        copy.getVertices()
                .replaceAll((name, vertex) -> whole(configuration.getVertices().get(name), vertex));
        copy.setIterationCount(configuration.getIterationCount());
        copy.setEpochCount(configuration.getEpochCount());
        copy.setTopologicalOrder(configuration.getTopologicalOrder());
        copy.setTopologicalOrderStr(configuration.getTopologicalOrderStr());
        attach(layers(copy).toList(), AmpConfigJson.text(config));
        return copy;
    }

    /**
     * Returns the copy of a vertex. DL4J's clone() of an attention vertex forgets what the graph's defaults had filled
     * in. That of others forgets the axis of a merge and the order of a reshape: the copied graph has the vertex
     * itself.
     */
    private static GraphVertex whole(GraphVertex from, GraphVertex clone) {
        if (from instanceof SameDiffVertex source && clone instanceof SameDiffVertex target) {
            target.setRegularization(source.getRegularization());
            target.setRegularizationBias(source.getRegularizationBias());
            target.setUpdater(copy(source.getUpdater()));
            target.setBiasUpdater(copy(source.getBiasUpdater()));
            target.setGradientNormalization(source.getGradientNormalization());
            target.setGradientNormalizationThreshold(source.getGradientNormalizationThreshold());
            target.setDataType(source.getDataType());
        }
        return clone instanceof LayerVertex || clone instanceof SameDiffVertex ? clone : from;
    }

    private static IUpdater copy(IUpdater updater) {
        return updater == null ? null : updater.clone();
    }

    /**
     * Returns the settings that a configuration carries, with a loss scaler of their own.
     *
     * @return empty if it carries none
     * @throws AmpException if they are corrupt or newer than this dl4j-amp, or name a layer class that can't be loaded
     */
    public static Optional<AmpConfig> read(MultiLayerConfiguration configuration) {
        AmpException.ifNull(configuration, "configuration", "a MultiLayerConfiguration");
        return read(layers(configuration));
    }

    /** As {@link #read(MultiLayerConfiguration)}, for a graph. */
    public static Optional<AmpConfig> read(ComputationGraphConfiguration configuration) {
        AmpException.ifNull(configuration, "configuration", "a ComputationGraphConfiguration");
        return read(layers(configuration));
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

    private static Optional<AmpConfig> read(Stream<Layer> layers) {
        return layers.flatMap(layer -> constraints(layer).stream())
                .flatMap(CarriedConfig::carried)
                .findFirst()
                .map(text -> AmpConfigJson.read(text, "the dl4j-amp settings that the configuration carries"));
    }

    private static void attach(List<Layer> layers, String text) {
        for (Layer layer : layers) {
            List<LayerConstraint> others = constraints(layer).stream()
                    .filter(constraint -> carried(constraint).findAny().isEmpty())
                    .toList();
            if (others.size() < constraints(layer).size()) {
                layer.setConstraints(new ArrayList<>(others));
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
        constraints.add(new UnitNormConstraint(new HashSet<>(Set.of(MARKER + text))));
        carrier.setConstraints(constraints);
    }

    private static Stream<String> carried(LayerConstraint constraint) {
        return Stream.ofNullable(constraint.getParams())
                .flatMap(Set::stream)
                .filter(name -> name.startsWith(MARKER))
                .map(name -> name.substring(MARKER.length()));
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
