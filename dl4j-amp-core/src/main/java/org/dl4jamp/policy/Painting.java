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
import org.dl4jamp.policy.NetworkGraph.Node;
import org.dl4jamp.precision.LayerFamily;
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

    /**
     * The precision requested for one node and the one chosen, before activations are considered.
     *
     * @param kind the kind that its class or a rule has
     * @param role what it does: LOWER computes in half precision, FULL in FP32, FOLLOW in the precision of its input
     * @param byRule whether a rule set the role
     */
    record Choice(Node node, LayerKind kind, LayerKind role, String reason, boolean byRule) {
        /** A choice without a rule, for a node that does what its kind says. */
        Choice(Node node, LayerKind kind, String reason) {
            this(node, kind, kind, reason, false);
        }

        /** Returns the choice for a layer whose neighbours compute in FP32. */
        Choice keptFull() {
            String why = "alone among FP32 layers: the casts would cost more than it saves";
            return new Choice(node, kind, LayerKind.FULL, why, byRule);
        }

        /** Returns whether its output has the type of its inputs. The layer that ends the network may cast its own. */
        boolean preservesType() {
            return role == LayerKind.FOLLOW && !(node.isLayer() && node.networkOutput());
        }

        /** Returns the reason for which its inputs must be FP32, whatever it computes in. */
        Optional<String> needsFloatInputs() {
            if (!node.isLayer()) {
                return role == LayerKind.FULL && !node.networkInput()
                        ? Optional.of("\"" + node.name() + "\" takes FP32 only")
                        : Optional.empty();
            }
            if (LayerKinds.family(node.layer()) == LayerFamily.LOOKUP) {
                return Optional.of("\"" + node.name() + "\" takes indices, which half precision would round");
            }
            if (LayerKinds.masksByValue(node.layer())) {
                return Optional.of("\"" + node.name()
                        + "\" counts features that equal its masking value, which half precision would round");
            }
            return LayerKinds.needsFloat(node.preProcessor());
        }

        /** Returns the reason for which its output must be FP32. */
        Optional<String> needsFloatOutput() {
            if (node.networkInput()) {
                return Optional.of("network inputs are FP32");
            }
            if (node.networkOutput()) {
                return Optional.of("network outputs are FP32");
            }
            return node.isLayer() || role != LayerKind.FULL
                    ? Optional.empty()
                    : Optional.of("\"" + node.name() + "\" computes in FP32 only");
        }
    }

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

    /** Returns the layers that compute in half precision, grouped where they pass half arrays without a cast. */
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
        Node node = choice.node();
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
