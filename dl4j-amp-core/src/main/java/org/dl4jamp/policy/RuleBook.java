package org.dl4jamp.policy;

import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.config.PrecisionRule;
import org.dl4jamp.precision.AmpException;

/** The user's rules for one network: every one of them is about at least one of its layers. */
final class RuleBook {
    private final List<PrecisionRule> rules;

    /** @throws AmpException if a rule matches no layer of the network */
    RuleBook(List<PrecisionRule> rules, NetworkGraph graph) {
        this.rules = List.copyOf(rules);
        for (PrecisionRule rule : rules) {
            if (graph.layers().stream().noneMatch(node -> match(rule, 0, node).isPresent())) {
                throw new AmpException(matchesNothing(rule, graph));
            }
        }
    }

    /**
     * Returns the most specific rule that matches a layer: name before class, nearer before farther class, class before
     * predicate, later before earlier.
     */
    Optional<PrecisionRule> ruleFor(NetworkGraph.Node node) {
        return IntStream.range(0, rules.size())
                .mapToObj(position -> match(rules.get(position), position, node))
                .flatMap(Optional::stream)
                .min(Match.MOST_SPECIFIC_FIRST)
                .map(Match::rule);
    }

    /**
     * A rule that matches a layer.
     *
     * @param form 0 for a rule by name, 1 by class, 2 by predicate
     * @param depth number of wrappers around the match: {@code LSTM.class} is also about a bidirectional LSTM, but less
     *     than {@code Bidirectional.class} is
     * @param distance superclass steps from the layer's class to the rule's
     * @param position place in the order in which the rules were given
     */
    private record Match(PrecisionRule rule, int form, int depth, int distance, int position) {
        static final Comparator<Match> MOST_SPECIFIC_FIRST = Comparator.comparingInt(Match::form)
                .thenComparingInt(Match::depth)
                .thenComparingInt(Match::distance)
                .thenComparing(Comparator.comparingInt(Match::position).reversed());
    }

    private static Optional<Match> match(PrecisionRule rule, int position, NetworkGraph.Node node) {
        List<Layer> layers = LayerKinds.wrapping(node.layer());
        for (int depth = 0; depth < layers.size(); depth++) {
            Layer layer = layers.get(depth);
            if (rule.matches(node.name(), layer)) {
                return Optional.of(specificity(rule, depth, layer, position));
            }
        }
        return Optional.empty();
    }

    private static Match specificity(PrecisionRule rule, int depth, Layer layer, int position) {
        if (rule instanceof PrecisionRule.ByName) {
            return new Match(rule, 0, 0, 0, position);
        }
        return rule instanceof PrecisionRule.ByClass byClass
                ? new Match(rule, 1, depth, distance(layer.getClass(), byClass.type()), position)
                : new Match(rule, 2, 0, 0, position);
    }

    private static int distance(Class<?> from, Class<?> to) {
        int steps = 0;
        for (Class<?> c = from; c != null && c != to; c = c.getSuperclass()) {
            steps++;
        }
        return steps;
    }

    private static String matchesNothing(PrecisionRule rule, NetworkGraph graph) {
        String layers = graph.layers().stream()
                .map(node -> node.name() + " (" + node.className() + ")")
                .collect(Collectors.joining(", "));
        String vertices = graph.nodes().stream()
                .filter(node ->
                        !node.isLayer() && rule instanceof PrecisionRule.ByName && rule.matches(node.name(), null))
                .map(node -> node.name() + " (" + node.className() + ")")
                .collect(Collectors.joining(", "));
        return "the rule " + AmpException.quote(rule.describe()) + " matches no layer. "
                + (vertices.isEmpty()
                        ? ""
                        : "It matches " + vertices + ", but rules are for layers: other vertices follow their inputs. ")
                + "The network's layers are " + layers;
    }
}
