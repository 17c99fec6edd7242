package org.dl4jamp.policy;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Finds the layers that an engine computes, in training, in one pass with what comes before them. */
public final class Fusions {
    private Fusions() {}

    /** Returns the plan with its fusions, which its rows show. */
    public static PrecisionPlan in(PrecisionPlan plan, NetworkGraph graph, EngineAbility ability) {
        Map<String, List<NetworkGraph.Node>> consumers = graph.consumers();
        List<PrecisionPlan.Fusion> found = new ArrayList<>();
        Map<String, String> remarks = new HashMap<>();
        for (NetworkGraph.Node node : graph.layers()) {
            if (node.inputs().size() != 1 || node.preProcessor() != null) {
                continue;
            }
            NetworkGraph.Node first = graph.node(node.inputs().get(0));
            boolean alone = consumers.get(first.name()).size() == 1 && !first.networkInput() && !first.networkOutput();
            if (alone
                    && plan.row(first.name()).engine().equals(ability.name())
                    && plan.row(node.name()).engine().equals(ability.name())
                    && ability.fuses(first, node.layer())) {
                found.add(new PrecisionPlan.Fusion(first.name(), node.name()));
                remarks.putIfAbsent(first.name(), "; in training in one pass with \"" + node.name() + "\"");
                remarks.putIfAbsent(node.name(), "; in training computed by \"" + first.name() + "\"");
            }
        }
        List<PrecisionPlan.Row> rows = plan.rows().stream()
                .map(row -> row.withReason(row.reason() + remarks.getOrDefault(row.name(), "")))
                .toList();
        return new PrecisionPlan(plan.precision(), plan.note(), rows, found);
    }
}
