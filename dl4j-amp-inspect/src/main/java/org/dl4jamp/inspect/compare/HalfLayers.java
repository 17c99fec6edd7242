package org.dl4jamp.inspect.compare;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.dl4jamp.policy.NetworkGraph;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.LayerKind;

/** Finds the layers because of which numbers of a network are in half precision. */
final class HalfLayers {
    private final NetworkGraph graph;
    private final PrecisionPlan plan;
    private final Map<String, List<NetworkGraph.Node>> consumers;

    HalfLayers(NetworkGraph graph, PrecisionPlan plan) {
        this.graph = graph;
        this.plan = plan;
        this.consumers = graph.consumers();
    }

    /**
     * Returns the names of the layers to keep in FP32 where numbers of a layer or vertex are weak: itself, if it
     * computes in half precision by its own. Otherwise the next ones that do: those before it, which compute what it
     * takes, or, if there are none, those after it, from which its gradients come.
     */
    Set<String> at(String name) {
        if (computesInHalf(name)) {
            return Set.of(name);
        }
        Set<String> before = next(name, false);
        return before.isEmpty() ? next(name, true) : before;
    }

    /** Returns the layers after a layer or vertex that compute in half precision by their own. */
    Set<String> after(String name) {
        return next(name, true);
    }

    private Set<String> next(String from, boolean after) {
        Set<String> found = new LinkedHashSet<>();
        Set<String> seen = new LinkedHashSet<>();
        Deque<String> open = new ArrayDeque<>(neighbours(from, after));
        while (!open.isEmpty()) {
            String name = open.pop();
            if (!seen.add(name) || graph.node(name).networkInput()) {
                continue;
            }
            if (computesInHalf(name)) {
                found.add(name);
            } else {
                open.addAll(neighbours(name, after));
            }
        }
        return found;
    }

    private List<String> neighbours(String name, boolean after) {
        return after
                ? consumers.get(name).stream().map(NetworkGraph.Node::name).toList()
                : graph.node(name).inputs();
    }

    private boolean computesInHalf(String name) {
        PrecisionPlan.Row row = plan.row(name);
        return row.precision().isHalf() && row.kind() != LayerKind.FOLLOW;
    }
}
