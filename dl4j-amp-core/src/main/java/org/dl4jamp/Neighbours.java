package org.dl4jamp;

import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.deeplearning4j.nn.conf.layers.BaseOutputLayer;
import org.deeplearning4j.nn.conf.layers.Cnn3DLossLayer;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.conf.layers.RnnLossLayer;
import org.dl4jamp.policy.NetworkGraph;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.twin.Surroundings;

/** Looks at what stands before and after each layer and vertex of a network. */
final class Neighbours {
    /** DL4J's own code that is at home in any order in memory: it looks at one position, with all its channels, after the other. */
    private static final Set<Class<?>> ANY_ORDER =
            Set.of(CnnLossLayer.class, Cnn3DLossLayer.class, RnnLossLayer.class, LossLayer.class);

    private final NetworkGraph graph;
    private final PrecisionPlan plan;
    private final String engine;
    private final Map<String, List<NetworkGraph.Node>> consumers;
    private final Set<String> dependsOnParameters = new HashSet<>();

    /**
     * @param engine name of the engine that computes what DL4J doesn't
     */
    Neighbours(NetworkGraph graph, PrecisionPlan plan, String engine) {
        this.graph = graph;
        this.plan = plan;
        this.engine = engine;
        this.consumers = graph.consumers();
        for (NetworkGraph.Node each : graph.nodes()) {
            if (each.hasParameters() || each.inputs().stream().anyMatch(dependsOnParameters::contains)) {
                dependsOnParameters.add(each.name());
            }
        }
    }

    Surroundings of(String name) {
        NetworkGraph.Node node = graph.node(name);
        boolean foreignProducer = node.preProcessor() != null
                || node.inputs().stream()
                        .map(graph::node)
                        .anyMatch(producer -> !producer.networkInput() && !isOurs(producer));
        boolean shared =
                node.inputs().stream().anyMatch(input -> consumers.get(input).size() > 1);
        boolean fused = node.preProcessor() == null
                && !shared
                && node.inputs().stream().anyMatch(input -> plan.fusion(input)
                        .filter(fusion -> fusion.then().equals(input))
                        .isPresent());
        return new Surroundings(
                inputGradient(node, shared),
                shared,
                fused,
                foreignProducer,
                consumers.get(name).stream().anyMatch(this::isForeign));
    }

    private Surroundings.InputGradient inputGradient(NetworkGraph.Node node, boolean shared) {
        if (node.inputs().stream().anyMatch(dependsOnParameters::contains)) {
            return Surroundings.InputGradient.READ;
        }
        boolean dropped = node.preProcessor() == null
                && !shared
                && node.inputs().size() == 1
                && graph.node(node.inputs().get(0)).networkInput();
        return dropped ? Surroundings.InputGradient.DROPPED : Surroundings.InputGradient.HANDED_ON;
    }

    private boolean isForeign(NetworkGraph.Node consumer) {
        if (consumer.preProcessor() != null) {
            return true;
        }
        // Dropout may change an array in place.
        boolean takesAnyOrder = consumer.isLayer()
                && consumer.layer().getIDropout() == null
                && (consumer.layer() instanceof BaseOutputLayer
                        || ANY_ORDER.contains(consumer.layer().getClass()));
        return !isOurs(consumer) && !takesAnyOrder;
    }

    private boolean isOurs(NetworkGraph.Node node) {
        return !node.networkInput() && plan.row(node.name()).engine().equals(engine);
    }
}
