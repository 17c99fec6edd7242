package org.dl4jamp.policy;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.precision.LayerFamily;
import org.nd4j.linalg.activations.IActivation;

/**
 * Finds what inference computes at once: a layer that multiplies, the batch normalization behind it, the sum of a
 * residual block and an activation function. Each has to be the only consumer of what comes before it. Dropout in
 * between doesn't matter: it's for training.
 */
public final class InferencePlanner {
    private final PrecisionPlan plan;
    private final EngineAbility ability;
    private final Map<String, Integer> turns = new HashMap<>();
    private final Map<String, List<NetworkGraph.Node>> consumers;

    private InferencePlanner(NetworkGraph graph, PrecisionPlan plan, EngineAbility ability, List<String> order) {
        this.plan = plan;
        this.ability = ability;
        this.consumers = graph.consumers();
        order.forEach(name -> turns.put(name, turns.size()));
    }

    /**
     * Returns the groups of a plan.
     *
     * @param order the names of all nodes in the order in which the network computes them
     * @param placed whether results may be put in places of their own
     */
    public static InferencePlan groups(
            NetworkGraph graph, PrecisionPlan plan, EngineAbility ability, List<String> order, boolean placed) {
        InferencePlanner planner = new InferencePlanner(graph, plan, ability, order);
        // Of the two inputs of a sum only the later one leads a group with it, so no node follows in two groups.
        List<FusionGroup> found = order.stream()
                .flatMap(name -> planner.ledBy(graph.node(name)).stream())
                .toList();
        return new InferencePlan(plan, placed ? planner.places(found) : found).explained();
    }

    private Optional<FusionGroup> ledBy(NetworkGraph.Node head) {
        if (!head.isLayer() || !isTheEngines(head) || !GroupConfiguration.canLead(inner(head))) {
            return Optional.empty();
        }
        Optional<NetworkGraph.Node> normalization =
                follower(head).filter(node -> node.isLayer() && GroupConfiguration.canFold(inner(head), inner(node)));
        NetworkGraph.Node last = normalization.orElse(head);
        Optional<NetworkGraph.Node> sum = follower(last).filter(node -> adds(head, node));
        NetworkGraph.Node summed = sum.orElse(last);
        Optional<NetworkGraph.Node> function = follower(summed)
                .filter(node -> node.isLayer()
                        && GroupConfiguration.function(inner(node)).isPresent());
        return supported(head, normalization, sum, function)
                .or(() -> supported(head, normalization, sum, Optional.empty()))
                .or(() -> supported(head, normalization, Optional.empty(), Optional.empty()));
    }

    private Optional<FusionGroup> supported(
            NetworkGraph.Node head,
            Optional<NetworkGraph.Node> normalization,
            Optional<NetworkGraph.Node> sum,
            Optional<NetworkGraph.Node> function) {
        FusionGroup group = new FusionGroup(
                head.name(),
                normalization.map(NetworkGraph.Node::name),
                sum.map(node -> new FusionGroup.Sum(
                        node.name(),
                        1 - node.inputs().indexOf(normalization.orElse(head).name()))),
                function.map(NetworkGraph.Node::name),
                Optional.empty());
        IActivation applied = function.flatMap(node -> GroupConfiguration.function(inner(node)))
                .orElse(null);
        Layer computed = GroupConfiguration.of(inner(head), normalization.isPresent(), applied);
        boolean able =
                ability.cannot(computed, plan.row(head.name()).precision()).isEmpty()
                        && (sum.isEmpty() || ability.sums(computed));
        return group.followers().isEmpty() || !able ? Optional.empty() : Optional.of(group);
    }

    /** Returns the layer inside DL4J's wrappers for frozen layers, which stay around it. */
    private static Layer inner(NetworkGraph.Node node) {
        return LayerKinds.frozen(node.layer());
    }

    private boolean isTheEngines(NetworkGraph.Node node) {
        return !node.networkInput()
                && !ability.name().equals(PrecisionPlanner.UNTOUCHED)
                && plan.row(node.name()).engine().equals(ability.name());
    }

    /**
     * Returns the only consumer of a node, if its only input is the node's output and its own output has the same type.
     */
    private Optional<NetworkGraph.Node> follower(NetworkGraph.Node node) {
        List<NetworkGraph.Node> all = consumers.get(node.name());
        if (all.size() != 1 || node.networkOutput()) {
            return Optional.empty();
        }
        NetworkGraph.Node next = all.get(0);
        boolean sameType = isTheEngines(next)
                && plan.row(next.name()).output() == plan.row(node.name()).output();
        return sameType && next.preProcessor() == null ? Optional.of(next) : Optional.empty();
    }

    /** Returns whether a vertex adds to a head's result what is there already at the head's turn. */
    private boolean adds(NetworkGraph.Node head, NetworkGraph.Node node) {
        return !node.isLayer()
                && node.vertex().getClass() == ElementWiseVertex.class
                && ((ElementWiseVertex) node.vertex()).getOp() == ElementWiseVertex.Op.Add
                && node.inputs().size() == 2
                && node.inputs().stream().anyMatch(input -> turns.get(input) < turns.get(head.name()));
    }

    /** Gives a buffer to each group whose result has a known last reader. */
    private List<FusionGroup> places(List<FusionGroup> groups) {
        List<Integer> freeFrom = new ArrayList<>();
        List<FusionGroup> placed = new ArrayList<>();
        for (FusionGroup group : groups) {
            if (!consumers.get(group.tail()).stream().allMatch(this::makesItsOwn)) {
                placed.add(group);
                continue;
            }
            int begin = turns.get(group.head());
            int end = consumers.get(group.tail()).stream()
                    .mapToInt(node -> turns.get(node.name()))
                    .max()
                    .orElse(turns.get(group.tail()));
            int place = 0;
            while (place < freeFrom.size() && freeFrom.get(place) >= begin) {
                place++;
            }
            if (place == freeFrom.size()) {
                freeFrom.add(end);
            } else {
                freeFrom.set(place, end);
            }
            placed.add(group.at(place));
        }
        return placed;
    }

    /** Returns whether a node's output is an array of its own, and no part of its input. */
    private boolean makesItsOwn(NetworkGraph.Node node) {
        if (!isTheEngines(node)) {
            return false;
        }
        if (!node.isLayer()) {
            return node.vertex().getClass() == ElementWiseVertex.class;
        }
        LayerFamily family = LayerKinds.family(node.layer());
        return family == LayerFamily.PRODUCTS || family == LayerFamily.POOLING || family == LayerFamily.OUTPUT;
    }
}
