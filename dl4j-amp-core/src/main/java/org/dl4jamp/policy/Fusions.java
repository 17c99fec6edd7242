package org.dl4jamp.policy;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Finds the layers that an engine computes, in training, in one pass with what comes before them. */
public final class Fusions {
    private final NetworkGraph graph;
    private final PrecisionPlan plan;
    private final EngineAbility ability;
    private final Map<String, List<NetworkGraph.Node>> consumers;

    private Fusions(NetworkGraph graph, PrecisionPlan plan, EngineAbility ability) {
        this.graph = graph;
        this.plan = plan;
        this.ability = ability;
        this.consumers = graph.consumers();
    }

    /** Returns the plan with its fusions, which its rows show. */
    public static PrecisionPlan in(PrecisionPlan plan, NetworkGraph graph, EngineAbility ability) {
        return new Fusions(graph, plan, ability).find();
    }

    private PrecisionPlan find() {
        List<PrecisionPlan.Fusion> found = new ArrayList<>();
        for (NetworkGraph.Node node : graph.layers()) {
            predecessor(node)
                    .filter(first -> isTheEngines(first) && isTheEngines(node) && ability.fuses(first, node.layer()))
                    .ifPresent(first -> found.add(new PrecisionPlan.Fusion(first.name(), node.name())));
        }
        PrecisionPlan fused = new PrecisionPlan(plan.precision(), plan.note(), plan.rows(), found);
        List<PrecisionPlan.Row> rows =
                plan.rows().stream().map(row -> explained(row, fused)).toList();
        return new PrecisionPlan(plan.precision(), plan.note(), rows, found);
    }

    private Optional<NetworkGraph.Node> predecessor(NetworkGraph.Node node) {
        if (node.inputs().size() != 1 || node.preProcessor() != null) {
            return Optional.empty();
        }
        NetworkGraph.Node first = graph.node(node.inputs().get(0));
        boolean alone = consumers.get(first.name()).size() == 1 && !first.networkInput() && !first.networkOutput();
        return alone ? Optional.of(first) : Optional.empty();
    }

    private boolean isTheEngines(NetworkGraph.Node node) {
        return plan.row(node.name()).engine().equals(ability.name());
    }

    private static PrecisionPlan.Row explained(PrecisionPlan.Row row, PrecisionPlan fused) {
        return fused.fusion(row.name())
                .map(fusion -> fusion.first().equals(row.name())
                        ? "; in training in one pass with \"" + fusion.then() + "\""
                        : "; in training computed by \"" + fusion.first() + "\"")
                .map(how -> row.withReason(row.reason() + how))
                .orElse(row);
    }
}
