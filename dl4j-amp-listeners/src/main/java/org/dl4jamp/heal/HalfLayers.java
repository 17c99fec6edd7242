package org.dl4jamp.heal;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.dl4jamp.policy.NetworkGraph;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.LayerKind;

/** Finds the layers because of which an array of a network is in HALF. */
final class HalfLayers {
    private HalfLayers() {}

    /**
     * Returns the names of the layers to keep in FP32 where something of a layer or vertex isn't finite: the layer
     * itself, if it computes in HALF by its own. Otherwise those that produce or take its output in HALF, or an array
     * that has the type of its output.
     */
    static Set<String> at(String name, PrecisionPlan plan, NetworkGraph graph) {
        if (computesInHalf(name, plan)) {
            return Set.of(name);
        }
        Map<String, List<NetworkGraph.Node>> consumers = graph.consumers();
        Set<String> arrays = new LinkedHashSet<>();
        Set<String> layers = new LinkedHashSet<>();
        Deque<String> open = new ArrayDeque<>(List.of(name));
        while (!open.isEmpty()) {
            String array = open.pop();
            if (!arrays.add(array)) {
                continue;
            }
            visit(graph.node(array), plan, layers, open);
            for (NetworkGraph.Node consumer : consumers.get(array)) {
                if (computesInHalf(consumer.name(), plan)) {
                    layers.add(consumer.name());
                } else if (follows(consumer, plan)) {
                    open.push(consumer.name());
                }
            }
        }
        return layers;
    }

    /** Visits the producer of an array. */
    private static void visit(NetworkGraph.Node producer, PrecisionPlan plan, Set<String> layers, Deque<String> open) {
        if (producer.networkInput()) {
            return;
        }
        if (computesInHalf(producer.name(), plan)) {
            layers.add(producer.name());
        } else if (follows(producer, plan)) {
            producer.inputs().forEach(open::push);
        }
    }

    /** Returns whether a layer computes in HALF by its own, and not because its input is in HALF. */
    private static boolean computesInHalf(String name, PrecisionPlan plan) {
        return plan.row(name).precision().isHalf() && plan.row(name).kind() != LayerKind.FOLLOW;
    }

    private static boolean follows(NetworkGraph.Node node, PrecisionPlan plan) {
        return plan.row(node.name()).kind() == LayerKind.FOLLOW;
    }
}
