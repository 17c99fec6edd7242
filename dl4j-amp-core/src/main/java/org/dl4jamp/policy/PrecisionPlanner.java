package org.dl4jamp.policy;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.config.PrecisionRule;
import org.dl4jamp.policy.NetworkGraph.Node;
import org.dl4jamp.policy.Painting.Choice;
import org.dl4jamp.policy.PrecisionPlan.Row;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.LayerFamily;
import org.dl4jamp.precision.LayerKind;
import org.dl4jamp.precision.OptLevel;
import org.dl4jamp.precision.Precision;

/**
 * Decides which layer of a network computes in which precision, and in which precision activations are kept in between.
 *
 * <p>The precision in which a layer computes may differ from that of its input and output; the engine then casts inside
 * the layer. So a batch normalization between two convolutions computes in FP32 and returns HALF arrays.
 *
 * <ol>
 *   <li>Each layer gets a precision: by the user's most specific rule, else by the opt level and {@link LayerKinds}.
 *       Layers that the engine can't do in half precision stay FP32. Output layers are lowered on engines that
 *       {@linkplain EngineAbility#keepsLossInFloat keep their loss in FP32}.
 *   <li>The arrays between layers are painted. Network inputs and outputs are FP32, and so is everything that only a
 *       cast would separate from them in a vertex or layer that preserves the type of its input.
 *   <li>Half islands without products go: a lone embedding between FP32 layers would be cast for nothing. Those of a
 *       rule stay.
 * </ol>
 */
public final class PrecisionPlanner {
    /** The engine's name, in plan and settings, where layers are left to DL4J as they are. */
    public static final String UNTOUCHED = "dl4j";

    private final NetworkGraph graph;
    private final Precision precision;
    private final OptLevel optLevel;
    private final RuleBook rules;
    private final EngineAbility ability;

    private PrecisionPlanner(
            NetworkGraph graph, Precision precision, OptLevel optLevel, RuleBook rules, EngineAbility ability) {
        this.graph = graph;
        this.precision = precision;
        this.optLevel = optLevel;
        this.rules = rules;
        this.ability = ability;
    }

    /**
     * Makes the plan for a network, without the {@linkplain #fused fusions} of training.
     *
     * @param precision HALF, BFLOAT16 or FLOAT
     * @param rules the user's overrides, in the order in which they were given; they are checked even where nothing is
     *     lowered
     * @param note the reason for this precision, for the plan's note and the reasons of rows that it leaves to DL4J;
     *     null if the settings name it
     * @return the plan; its precision is FLOAT if no layer ended in half precision
     * @throws AmpException if a rule matches no layer
     * @throws IllegalArgumentException if the precision is AUTO
     */
    public static PrecisionPlan plan(
            NetworkGraph graph,
            Precision precision,
            OptLevel optLevel,
            List<PrecisionRule> rules,
            EngineAbility ability,
            String note) {
        Objects.requireNonNull(graph, "graph");
        Objects.requireNonNull(optLevel, "optLevel");
        if (precision.dataType().isEmpty()) {
            throw new IllegalArgumentException(
                    "precision " + precision + ": resolve it to HALF, BFLOAT16 or FLOAT first");
        }
        RuleBook book = new RuleBook(rules, graph);
        PrecisionPlanner planner = new PrecisionPlanner(graph, precision, optLevel, book, ability);
        String why = optLevel == OptLevel.O0
                ? "opt level O0 is FP32 throughout"
                : Objects.requireNonNullElse(note, precision + " was asked for");
        return precision.isHalf() && optLevel != OptLevel.O0 ? planner.mixed(why) : planner.allFloat(why);
    }

    /**
     * Returns the plan with its fusions, which its rows show: the layers that the engine computes, in training, in one
     * pass with what comes before them.
     */
    public static PrecisionPlan fused(PrecisionPlan plan, NetworkGraph graph, EngineAbility ability) {
        Map<String, List<Node>> consumers = graph.consumers();
        List<PrecisionPlan.Fusion> found = new ArrayList<>();
        Map<String, String> remarks = new HashMap<>();
        for (Node node : graph.layers()) {
            if (node.inputs().size() != 1 || node.preProcessor() != null) {
                continue;
            }
            Node first = graph.node(node.inputs().get(0));
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
        List<Row> rows = plan.rows().stream()
                .map(row -> row.withReason(row.reason() + remarks.getOrDefault(row.name(), "")))
                .toList();
        return new PrecisionPlan(plan.precision(), plan.note(), rows, found);
    }

    private PrecisionPlan allFloat(String why) {
        List<Choice> choices = graph.nodes().stream()
                .map(node -> new Choice(node, LayerKind.FULL, why))
                .toList();
        return new PrecisionPlan(Precision.FLOAT, why, rows(choices));
    }

    private PrecisionPlan mixed(String why) {
        List<Choice> choices = graph.nodes().stream().map(this::choose).toList();
        Set<Choice> pointless = new Painting(choices)
                .islands().stream()
                        .filter(this::gainsNothing)
                        .flatMap(List::stream)
                        .collect(Collectors.toSet());
        List<Row> rows = rows(choices.stream()
                .map(choice -> pointless.contains(choice) ? choice.keptFull() : choice)
                .toList());
        PrecisionPlan plan = new PrecisionPlan(precision, why, rows);
        return plan.anyHalf() ? plan : new PrecisionPlan(Precision.FLOAT, "no layer gains from " + precision, rows);
    }

    private List<Row> rows(List<Choice> choices) {
        Painting painting = new Painting(choices);
        return choices.stream()
                .filter(choice -> !choice.node().networkInput())
                .map(choice -> row(choice, painting))
                .map(row -> row.engine().equals(UNTOUCHED) && !row.precision().isHalf() ? floatOnEngine(row) : row)
                .toList();
    }

    /** Returns a row with the engine in place of DL4J, if the engine computes FP32. */
    private Row floatOnEngine(Row row) {
        if (!ability.computesFloat() || optLevel == OptLevel.O0) {
            return row;
        }
        Node node = graph.node(row.name());
        boolean besideHalf = precision.isHalf();
        if (!node.isLayer()) {
            return ability.computes(node.vertex(), Precision.FLOAT)
                    ? row.on(ability.name(), besideHalf ? row.reason() : "FP32")
                    : row;
        }
        Optional<String> cannot = cannot(node, Precision.FLOAT);
        if (cannot.isPresent()) {
            return besideHalf ? row : row.withReason(ability.name() + " can't: " + cannot.get());
        }
        String how = ability.how(node.layer(), Precision.FLOAT);
        return row.on(ability.name(), besideHalf ? row.reason() + "; " + how : how);
    }

    private Optional<String> cannot(Node node, Precision wanted) {
        return node.keepsState()
                ? Optional.of("its class keeps state in fields of its own")
                : ability.cannot(node.layer(), wanted);
    }

    // Casting costs a pass over the activations; only products save more than that for sure.
    private boolean gainsNothing(List<Choice> island) {
        return island.stream().noneMatch(choice -> choice.byRule() || hasProducts(choice.node()));
    }

    // An output layer that the level keeps in FP32 goes along with the layers before it.
    private boolean hasProducts(Node node) {
        if (!node.isLayer()) {
            return true;
        }
        LayerFamily family = LayerKinds.family(node.layer());
        return family == LayerFamily.PRODUCTS
                || (family == LayerFamily.OUTPUT
                        && LayerKinds.verdict(optLevel, node.layer()).kind() == LayerKind.LOWER);
    }

    private Choice choose(Node node) {
        if (node.networkInput()) {
            return new Choice(node, LayerKind.FULL, "network input");
        }
        if (!node.isLayer()) {
            return chooseVertex(node);
        }
        Optional<PrecisionRule> rule = rules.ruleFor(node);
        boolean byRule = rule.isPresent();
        LayerKinds.Verdict verdict =
                rule.map(r -> new LayerKinds.Verdict(r.kind(), reason(r))).orElseGet(() -> byLevel(node));
        LayerKind kind = verdict.kind();
        String reason = verdict.reason();
        Optional<String> cannot = kind == LayerKind.FULL ? Optional.empty() : cannot(node, precision);
        if (cannot.isPresent()) {
            String why = ability.name() + " can't: " + cannot.get();
            return new Choice(node, kind, LayerKind.FULL, byRule ? reason + ", but " + why : why, byRule);
        }
        if (kind == LayerKind.LOWER) {
            String how = ability.how(node.layer(), precision);
            reason = byRule ? how + ", " + reason : how;
        }
        return new Choice(node, kind, kind, reason, byRule);
    }

    private Choice chooseVertex(Node node) {
        LayerKinds.Verdict verdict = LayerKinds.verdict(node.vertex());
        if (verdict.kind() != LayerKind.LOWER) {
            return new Choice(node, verdict.kind(), verdict.reason());
        }
        if (!ability.computes(node.vertex(), precision)) {
            return new Choice(node, LayerKind.FULL, LayerFamily.FIXED_TYPE.reason());
        }
        Optional<PrecisionRule> rule = rules.ruleFor(node);
        LayerKind kind = rule.map(PrecisionRule::kind).orElse(LayerKind.LOWER);
        String reason = rule.map(PrecisionPlanner::reason).orElse(verdict.reason());
        return new Choice(node, kind, kind, reason, rule.isPresent());
    }

    // What has to be FP32 in an output layer is its loss.
    private LayerKinds.Verdict byLevel(Node node) {
        Layer layer = node.layer();
        LayerKinds.Verdict verdict = LayerKinds.verdict(optLevel, layer);
        boolean lossApart = verdict.kind() == LayerKind.FULL
                && LayerKinds.family(layer) == LayerFamily.OUTPUT
                && cannot(node, precision).isEmpty()
                && ability.keepsLossInFloat(layer, precision);
        return lossApart ? new LayerKinds.Verdict(LayerKind.LOWER, verdict.reason()) : verdict;
    }

    private static String reason(PrecisionRule rule) {
        return (rule.kind() == LayerKind.FULL ? "kept full by " : "asked for by ") + rule.describe();
    }

    private Row row(Choice choice, Painting painting) {
        Node node = choice.node();
        boolean in = node.inputs().stream().anyMatch(painting::half);
        boolean out = painting.half(node.name());
        boolean computesHalf = choice.role() == LayerKind.LOWER || (choice.role() == LayerKind.FOLLOW && in);
        Precision computed = computesHalf ? precision : Precision.FLOAT;
        boolean touched =
                node.isLayer() ? in || out || computesHalf : computesHalf && ability.computes(node.vertex(), computed);
        return new Row(
                node.name(),
                node.className(),
                node.isLayer(),
                choice.kind(),
                computed,
                in ? precision : Precision.FLOAT,
                out ? precision : Precision.FLOAT,
                touched ? ability.name() : UNTOUCHED,
                reason(choice, in, out, painting.forced(node.name())));
    }

    private String reason(Choice choice, boolean in, boolean out, Optional<String> forced) {
        String floatOutput =
                out ? "" : forced.map(why -> "; output in FP32: " + why).orElse("");
        return switch (choice.role()) {
            case LOWER -> choice.reason() + floatOutput;
            case FOLLOW ->
                choice.reason()
                        + (in ? floatOutput : ": " + forced.orElse("no layer beside it computes in " + precision));
            case FULL -> {
                String halfOutput = out ? ", returns " + precision : "";
                String halfInput = out ? ", activations kept in " + precision : ", takes " + precision;
                yield choice.reason() + (in ? halfInput : halfOutput);
            }
        };
    }
}
