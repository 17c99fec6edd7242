package org.dl4jamp.policy;

import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.config.PrecisionRule;
import org.dl4jamp.policy.NetworkGraph.Node;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.LayerKind;

/**
 * The user's rules for one network: every one of them is about at least one of its layers. Those by name are about
 * vertices that may compute in lower precision, too.
 */
final class RuleBook {
    private final List<PrecisionRule> rules;

    /** @throws AmpException if a rule matches no layer of the network */
    RuleBook(List<PrecisionRule> rules, NetworkGraph graph) {
        this.rules = List.copyOf(rules);
        for (PrecisionRule rule : rules) {
            if (graph.nodes().stream().noneMatch(node -> match(rule, node).isPresent())) {
                throw new AmpException(matchesNothing(rule, graph));
            }
        }
    }

    /**
     * Returns the most specific rule that matches a layer: name before class, nearer before farther class, class before
     * predicate, later before earlier.
     */
    Optional<PrecisionRule> ruleFor(Node node) {
        return rules.stream()
                .flatMap(rule -> match(rule, node).stream())
                .reduce((best, later) -> Match.MOST_SPECIFIC_FIRST.compare(later, best) <= 0 ? later : best)
                .map(Match::rule);
    }

    /**
     * A rule that matches a layer.
     *
     * @param form 0 for a rule by name, 1 by class, 2 by predicate
     * @param depth number of wrappers around the match: {@code LSTM.class} is also about a bidirectional LSTM, but less
     *     than {@code Bidirectional.class} is
     * @param distance superclass steps from the layer's class to the rule's
     */
    private record Match(PrecisionRule rule, int form, int depth, int distance) {
        static final Comparator<Match> MOST_SPECIFIC_FIRST = Comparator.comparingInt(Match::form)
                .thenComparingInt(Match::depth)
                .thenComparingInt(Match::distance);
    }

    private static Optional<Match> match(PrecisionRule rule, Node node) {
        if (!node.isLayer() && !node.networkInput()) {
            boolean lowered = LayerKinds.verdict(node.vertex()).kind() == LayerKind.LOWER;
            return lowered && rule instanceof PrecisionRule.ByName && rule.matches(node.name(), null)
                    ? Optional.of(new Match(rule, 0, 0, 0))
                    : Optional.empty();
        }
        List<Layer> layers = node.layers();
        for (int depth = 0; depth < layers.size(); depth++) {
            Layer layer = layers.get(depth);
            if (rule.matches(node.name(), layer)) {
                return Optional.of(
                        rule instanceof PrecisionRule.ByClass byClass
                                ? new Match(rule, 1, depth, distance(layer.getClass(), byClass.type()))
                                : new Match(rule, rule instanceof PrecisionRule.ByName ? 0 : 2, 0, 0));
            }
        }
        return Optional.empty();
    }

    private static int distance(Class<?> from, Class<?> to) {
        int steps = 0;
        for (Class<?> c = from; c != null && c != to; c = c.getSuperclass()) {
            steps++;
        }
        return steps;
    }

    private static String matchesNothing(PrecisionRule rule, NetworkGraph graph) {
        String vertices = listed(graph.nodes().stream()
                .filter(node ->
                        !node.isLayer() && rule instanceof PrecisionRule.ByName && rule.matches(node.name(), null)));
        return "the rule " + AmpException.quote(rule.describe()) + " matches no layer. "
                + (vertices.isEmpty()
                        ? ""
                        : "It matches " + vertices + ", but rules are for layers: other vertices follow their inputs. ")
                + "The network's layers are " + listed(graph.layers().stream());
    }

    private static String listed(Stream<Node> nodes) {
        return nodes.map(node -> node.name() + " (" + node.className() + ")").collect(Collectors.joining(", "));
    }
}
