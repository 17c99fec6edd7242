package org.dl4jamp.inspect.drawing;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.dl4jamp.inspect.plan.NetworkPlan;
import org.dl4jamp.inspect.plan.NetworkPlan.Edge;
import org.dl4jamp.inspect.plan.NetworkPlan.Input;
import org.dl4jamp.inspect.plan.NetworkPlan.Layer;

/**
 * Nodes that are drawn as one box with a row for each: a chain without branches and casts.
 *
 * @param names names of the nodes, in order
 */
record Stack(List<String> names) {
    /** A box isn't made taller than this many rows. */
    private static final int MOST_ROWS = 30;

    Stack {
        names = List.copyOf(names);
    }

    /** Returns the network inputs, each alone, and the stacks of a plan, in topological order. */
    static List<Stack> of(NetworkPlan plan) {
        Map<String, List<Edge>> out = plan.edges().stream().collect(Collectors.groupingBy(Edge::from));
        Map<String, List<Edge>> in = plan.edges().stream().collect(Collectors.groupingBy(Edge::to));
        Set<String> inputs = plan.inputs().stream().map(Input::name).collect(Collectors.toSet());
        List<List<String>> stacks = new ArrayList<>();
        Map<String, List<String>> lastOf = new HashMap<>();
        plan.inputs().forEach(input -> stacks.add(List.of(input.name())));
        for (Layer layer : plan.layers()) {
            List<Edge> before = in.getOrDefault(layer.name(), List.of());
            Edge only = before.size() == 1 ? before.get(0) : null;
            boolean continues = only != null
                    && only.cast() == null
                    && !inputs.contains(only.from())
                    && out.get(only.from()).size() == 1
                    && lastOf.get(only.from()).size() < MOST_ROWS;
            List<String> stack = continues ? lastOf.remove(only.from()) : new ArrayList<>();
            if (!continues) {
                stacks.add(stack);
            }
            stack.add(layer.name());
            lastOf.put(layer.name(), stack);
        }
        return stacks.stream().map(Stack::new).toList();
    }

    String first() {
        return names.get(0);
    }

    String last() {
        return names.get(names.size() - 1);
    }
}
