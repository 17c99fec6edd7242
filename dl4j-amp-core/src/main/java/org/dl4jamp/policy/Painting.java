package org.dl4jamp.policy;

import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.dl4jamp.precision.LayerKind;

/**
 * Decides which of a network's activations are kept in half precision.
 *
 * <p>Each node's output is one array. Arrays that are joined by nodes which preserve the type have one type. It's FP32
 * if anything forces it; else half if a layer that computes in half precision produces or takes one of them; else FP32,
 * since nothing would gain.
 */
final class Painting {
    private final List<Choice> choices;
    private final DisjointSets classes = new DisjointSets();
    private final Map<String, String> forced = new HashMap<>();
    private final Set<String> wanted = new HashSet<>();

    /** Union-find over the names of nodes. */
    private static final class DisjointSets {
        private final Map<String, String> parents = new HashMap<>();

        void union(String a, String b) {
            String root = find(a);
            if (!root.equals(find(b))) {
                parents.put(root, find(b));
            }
        }

        /** Returns the member that represents the set of {@code a}. */
        String find(String a) {
            String root = a;
            while (parents.containsKey(root)) {
                root = parents.get(root);
            }
            return root;
        }
    }

    Painting(List<Choice> choices) {
        this.choices = choices;
        choices.stream().filter(choice -> choice.role() == LayerKind.FOLLOW).forEach(this::join);
        choices.forEach(this::force);
        lowered().forEach(choice -> touched(choice).forEach(array -> wanted.add(classes.find(array))));
    }

    /** Returns whether the output of a node is kept in half precision. */
    boolean half(String node) {
        String root = classes.find(node);
        return wanted.contains(root) && !forced.containsKey(root);
    }

    /** Returns what forces the output of a node to be FP32, if anything does. */
    Optional<String> forced(String node) {
        return Optional.ofNullable(forced.get(classes.find(node)));
    }

    /**
     * Returns the layers that compute in half precision, in groups that pass half arrays to each other without a cast.
     */
    Collection<List<Choice>> islands() {
        DisjointSets sets = new DisjointSets();
        Map<String, String> touchedBy = new HashMap<>();
        lowered().forEach(choice -> touched(choice).stream().filter(this::half).forEach(array -> {
            String name = choice.node().name();
            sets.union(name, touchedBy.computeIfAbsent(classes.find(array), of -> name));
        }));
        return lowered()
                .collect(Collectors.groupingBy(choice -> sets.find(choice.node().name())))
                .values();
    }

    private Stream<Choice> lowered() {
        return choices.stream().filter(choice -> choice.role() == LayerKind.LOWER);
    }

    private void join(Choice choice) {
        List<String> inputs = choice.node().inputs();
        inputs.forEach(input -> classes.union(input, inputs.get(0)));
        if (choice.preservesType() && !inputs.isEmpty()) {
            classes.union(choice.node().name(), inputs.get(0));
        }
    }

    private void force(Choice choice) {
        NetworkGraph.Node node = choice.node();
        choice.needsFloatOutput().ifPresent(reason -> forced.putIfAbsent(classes.find(node.name()), reason));
        choice.needsFloatInputs()
                .ifPresent(reason -> node.inputs().forEach(input -> forced.putIfAbsent(classes.find(input), reason)));
    }

    /** Returns the names of the nodes whose outputs a layer takes or makes. */
    private static List<String> touched(Choice choice) {
        return Stream.concat(Stream.of(choice.node().name()), choice.node().inputs().stream())
                .toList();
    }
}
