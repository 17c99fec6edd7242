package org.dl4jamp.install;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.deeplearning4j.nn.conf.dropout.AlphaDropout;
import org.deeplearning4j.nn.conf.dropout.Dropout;
import org.deeplearning4j.nn.conf.dropout.GaussianDropout;
import org.deeplearning4j.nn.conf.dropout.GaussianNoise;
import org.deeplearning4j.nn.conf.dropout.SpatialDropout;
import org.deeplearning4j.nn.conf.layers.CenterLossOutputLayer;
import org.deeplearning4j.nn.conf.layers.Cnn3DLossLayer;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnLossLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.ocnn.OCNNOutputLayer;
import org.dl4jamp.dl4j.NetworkCall;
import org.dl4jamp.gradient.FiniteCheck;
import org.dl4jamp.policy.NetworkGraph;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.twin.LayerContext;
import org.dl4jamp.twin.PassCheck;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Finds the nodes before and after each layer and vertex of a network. */
final class LayerContexts {
    /**
     * DL4J's layers that only read their input, in any order in memory: they multiply it by weights, or copy it before
     * they compute the loss. Subclasses may compute anything.
     */
    private static final Set<Class<?>> READERS = Set.of(
            OutputLayer.class,
            RnnOutputLayer.class,
            CenterLossOutputLayer.class,
            OCNNOutputLayer.class,
            CnnLossLayer.class,
            Cnn3DLossLayer.class,
            RnnLossLayer.class);

    /** DL4J's dropout, which writes its result into an array that it's given for it. */
    private static final Set<Class<?>> DROPOUTS =
            Set.of(Dropout.class, AlphaDropout.class, GaussianDropout.class, GaussianNoise.class, SpatialDropout.class);

    private final NetworkGraph graph;
    private final PrecisionPlan plan;
    private final String engine;
    private final Map<String, List<NetworkGraph.Node>> consumers;
    private final Map<String, Integer> turns = new HashMap<>();
    /** Layers and vertices whose output's gradient is read: on the way back to parameters, or by a user's dropout. */
    private final Set<String> gradientsAreRead = new HashSet<>();

    private final PassCheck.SpecialNumbers special;
    private final Map<String, PassCheck> checks = new HashMap<>();

    /**
     * @param order the names of all nodes in the order in which the network computes them
     * @param engine name of the engine that computes what DL4J doesn't
     * @param special whether the engine may lose something of an array
     */
    LayerContexts(
            NetworkGraph graph, List<String> order, PrecisionPlan plan, String engine, Predicate<INDArray> special) {
        this.graph = graph;
        this.plan = plan;
        this.engine = engine;
        this.special = (input, training) -> isSpecial(special, input, training);
        this.consumers = graph.consumers();
        order.forEach(name -> turns.put(name, turns.size()));
        for (NetworkGraph.Node each : graph.nodes()) {
            if (each.hasParameters()
                    || dropsOutByUsers(each)
                    || each.inputs().stream().anyMatch(gradientsAreRead::contains)) {
                gradientsAreRead.add(each.name());
            }
        }
    }

    LayerContext of(String name) {
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
        return new LayerContext(
                inputGradient(node, shared),
                shared,
                fused,
                foreignProducer,
                consumers.get(name).stream().anyMatch(this::isForeign),
                node.networkOutput() || consumers.get(name).stream().anyMatch(this::mayWrite),
                check(node),
                turns.get(name));
    }

    /** Returns the check of a node, the same object each time: all consumers of its output share it. */
    private PassCheck check(NetworkGraph.Node node) {
        PassCheck known = checks.get(node.name());
        if (known != null) {
            return known;
        }
        List<PassCheck> producers = new ArrayList<>();
        boolean fromOutside = false;
        for (String input : node.inputs()) {
            NetworkGraph.Node producer = graph.node(input);
            if (isOurs(producer)) {
                producers.add(check(producer));
            } else {
                fromOutside = true;
            }
        }
        PassCheck check = new PassCheck(producers, fromOutside ? special : null);
        checks.put(node.name(), check);
        return check;
    }

    /** In training mode only what would be lost for sure: its backward pass goes through the engine's other layers. */
    private static boolean isSpecial(Predicate<INDArray> mayBeLost, INDArray input, boolean training) {
        return training
                ? !NetworkCall.isStep()
                        && mayBeLost.test(input)
                        && FiniteCheck.firstNonFinite(input).isPresent()
                : mayBeLost.test(input);
    }

    private LayerContext.InputGradient inputGradient(NetworkGraph.Node node, boolean shared) {
        if (dropsOutByUsers(node) || node.inputs().stream().anyMatch(gradientsAreRead::contains)) {
            return LayerContext.InputGradient.READ;
        }
        boolean dropped = node.preProcessor() == null
                && !shared
                && node.inputs().size() == 1
                && graph.node(node.inputs().get(0)).networkInput();
        return dropped ? LayerContext.InputGradient.DROPPED : LayerContext.InputGradient.HANDED_ON;
    }

    private boolean isForeign(NetworkGraph.Node consumer) {
        return consumer.preProcessor() != null || !(isOurs(consumer) || takesAnyOrder(consumer));
    }

    /** {@link LossLayer} takes any order, but lets the loss function write into its input. */
    private static boolean takesAnyOrder(NetworkGraph.Node consumer) {
        return consumer.isLayer()
                && consumer.layer().getIDropout() == null
                && (reads(consumer) || consumer.layer().getClass() == LossLayer.class);
    }

    private static boolean reads(NetworkGraph.Node consumer) {
        return READERS.contains(consumer.layer().getClass());
    }

    /**
     * Returns whether a consumer may change what it's given. DL4J's own layers let dropout do so, and this engine's a
     * user's dropout.
     */
    private boolean mayWrite(NetworkGraph.Node consumer) {
        if (consumer.preProcessor() != null) {
            return true;
        }
        if (!consumer.isLayer()) {
            return !isOurs(consumer);
        }
        return isOurs(consumer)
                ? dropsOutByUsers(consumer)
                : consumer.layer().getIDropout() != null || !reads(consumer);
    }

    /** Returns whether a layer's dropout is a user's class, which may write into its input and count its calls. */
    private static boolean dropsOutByUsers(NetworkGraph.Node node) {
        return node.layers().stream()
                .map(Layer::getIDropout)
                .anyMatch(dropout -> dropout != null && !DROPOUTS.contains(dropout.getClass()));
    }

    private boolean isOurs(NetworkGraph.Node node) {
        return !node.networkInput() && plan.row(node.name()).engine().equals(engine);
    }
}
