package org.dl4jamp.install;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
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
import org.deeplearning4j.nn.conf.layers.recurrent.LastTimeStep;
import org.deeplearning4j.nn.conf.layers.recurrent.TimeDistributed;
import org.deeplearning4j.nn.conf.ocnn.OCNNOutputLayer;
import org.dl4jamp.dl4j.NetworkCall;
import org.dl4jamp.engine.ComputeEngine;
import org.dl4jamp.gradient.NonFiniteSource;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.policy.NetworkGraph;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.twin.LayerContext;
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

    /** So many numbers are read faster than the stack. */
    private static final int FEW = 10_000;

    private final NetworkGraph graph;
    private final PrecisionPlan plan;
    private final String engine;
    private final Map<String, List<NetworkGraph.Node>> consumers;
    private final Map<String, Integer> turns = new HashMap<>();
    /** Layers and vertices whose output's gradient is read: on the way back to parameters, or by a user's dropout. */
    private final Set<String> gradientsAreRead = new HashSet<>();

    private final Map<String, LayerContext.PassCheck> checks = new HashMap<>();

    /** @param engine computes what DL4J doesn't */
    LayerContexts(AmpNetwork network, PrecisionPlan plan, ComputeEngine engine, ComputeEngine.EngineSession session) {
        this.graph = network.graph();
        this.plan = plan;
        this.engine = engine.name();
        this.consumers = graph.consumers();
        network.order().forEach(name -> turns.put(name, turns.size()));
        for (NetworkGraph.Node each : graph.nodes()) {
            checks.put(each.name(), check(each, (input, training) -> isSpecial(session, input, training)));
            if (each.hasParameters() || readsInputGradient(each)) {
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
        boolean foreignConsumer = consumers.get(name).stream().anyMatch(this::isForeign);
        return new LayerContext(
                inputGradient(node, shared),
                shared,
                fused,
                foreignProducer,
                foreignConsumer,
                foreignConsumer && node.layers().stream().noneMatch(LastTimeStep.class::isInstance),
                node.networkOutput() || consumers.get(name).stream().anyMatch(this::mayWrite),
                checks.get(name),
                turns.get(name));
    }

    /** Returns the plan, with what the engine has refused since. */
    PrecisionPlan corrected() {
        return plan.withReasons(name -> checks.get(name).refused().reason());
    }

    /** Makes the check of a node, for all consumers of its output, after those of the nodes before it. */
    private LayerContext.PassCheck check(NetworkGraph.Node node, LayerContext.PassCheck.SpecialNumbers special) {
        List<NetworkGraph.Node> ours =
                node.inputs().stream().map(graph::node).filter(this::isOurs).toList();
        List<LayerContext.PassCheck> producers =
                ours.stream().map(producer -> checks.get(producer.name())).toList();
        return new LayerContext.PassCheck(producers, ours.size() < node.inputs().size() ? special : null);
    }

    /** In training mode only what would be lost for sure: its backward pass goes through the engine's other layers. */
    private static boolean isSpecial(ComputeEngine.EngineSession session, INDArray input, boolean training) {
        return !(training && input.length() > FEW && NetworkCall.isStep())
                && session.losesSpecialNumbers(input)
                && !(training
                        && (NetworkCall.isStep()
                                || NonFiniteSource.firstNonFinite(input).isEmpty()));
    }

    private LayerContext.InputGradient inputGradient(NetworkGraph.Node node, boolean shared) {
        if (readsInputGradient(node)) {
            return LayerContext.InputGradient.READ;
        }
        boolean dropped = node.preProcessor() == null
                && !shared
                && node.layers().stream().noneMatch(TimeDistributed.class::isInstance)
                && node.inputs().size() == 1
                && graph.node(node.inputs().get(0)).networkInput();
        return dropped ? LayerContext.InputGradient.DROPPED : LayerContext.InputGradient.HANDED_ON;
    }

    private boolean readsInputGradient(NetworkGraph.Node node) {
        return dropsOutByUsers(node) || node.inputs().stream().anyMatch(gradientsAreRead::contains);
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
        return isOurs(consumer)
                ? dropsOutByUsers(consumer)
                : !consumer.isLayer() || consumer.layer().getIDropout() != null || !reads(consumer);
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
