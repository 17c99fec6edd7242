package org.dl4jamp.policy;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
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
    private final Map<String, Integer> positions = new HashMap<>();
    private final DisjointSets classes;
    private final Map<Integer, String> forced = new HashMap<>();
    private final Set<Integer> wanted = new HashSet<>();

    Painting(List<Choice> choices) {
        this.choices = choices;
        this.classes = new DisjointSets(choices.size());
        for (int i = 0; i < choices.size(); i++) {
            positions.put(choices.get(i).node().name(), i);
        }
        join();
        choices.forEach(this::force);
        choices.stream().filter(choice -> choice.role() == LayerKind.LOWER).forEach(this::want);
    }

    /** Returns whether the output of a node is kept in half precision. */
    boolean half(NetworkGraph.Node node) {
        return half(position(node.name()));
    }

    /** Returns whether any of a node's inputs is kept in half precision. */
    boolean anyInputHalf(NetworkGraph.Node node) {
        return node.inputs().stream().anyMatch(input -> half(position(input)));
    }

    /** Returns what forces the output of a node to be FP32, if anything does. */
    Optional<String> forced(NetworkGraph.Node node) {
        return Optional.ofNullable(forced.get(classOf(node.name())));
    }

    /**
     * Returns the layers that compute in half precision, in groups that pass half arrays to each other without a cast.
     */
    List<List<Choice>> islands() {
        DisjointSets sets = new DisjointSets(choices.size());
        Map<Integer, Integer> touchedBy = new HashMap<>();
        for (int i = 0; i < choices.size(); i++) {
            if (choices.get(i).role() == LayerKind.LOWER) {
                int layer = i;
                for (int array : touched(choices.get(i))) {
                    if (half(array)) {
                        sets.union(i, touchedBy.computeIfAbsent(classes.find(array), of -> layer));
                    }
                }
            }
        }
        Map<Integer, List<Choice>> islands = new HashMap<>();
        for (int i = 0; i < choices.size(); i++) {
            if (choices.get(i).role() == LayerKind.LOWER) {
                islands.computeIfAbsent(sets.find(i), key -> new ArrayList<>()).add(choices.get(i));
            }
        }
        return List.copyOf(islands.values());
    }

    private void join() {
        for (Choice choice : choices) {
            List<String> inputs = choice.node().inputs();
            if (choice.role() == LayerKind.FOLLOW) {
                for (String input : inputs) {
                    classes.union(position(input), position(inputs.get(0)));
                }
                if (choice.preservesType() && !inputs.isEmpty()) {
                    classes.union(position(choice.node().name()), position(inputs.get(0)));
                }
            }
        }
    }

    private void force(Choice choice) {
        NetworkGraph.Node node = choice.node();
        choice.needsFloatOutput().ifPresent(reason -> forced.putIfAbsent(classOf(node.name()), reason));
        choice.needsFloatInputs()
                .ifPresent(reason -> node.inputs().forEach(input -> forced.putIfAbsent(classOf(input), reason)));
    }

    private void want(Choice choice) {
        touched(choice).forEach(array -> wanted.add(classes.find(array)));
    }

    private List<Integer> touched(Choice choice) {
        List<Integer> arrays = new ArrayList<>();
        arrays.add(position(choice.node().name()));
        choice.node().inputs().forEach(input -> arrays.add(position(input)));
        return arrays;
    }

    private boolean half(int array) {
        int root = classes.find(array);
        return wanted.contains(root) && !forced.containsKey(root);
    }

    private int classOf(String name) {
        return classes.find(position(name));
    }

    private int position(String name) {
        return positions.get(name);
    }
}
