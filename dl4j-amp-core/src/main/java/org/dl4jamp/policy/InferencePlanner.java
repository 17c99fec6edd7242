package org.dl4jamp.policy;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.Deconvolution3D;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DepthwiseConvolution2D;
import org.deeplearning4j.nn.conf.layers.FeedForwardLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.ZeroPaddingLayer;
import org.dl4jamp.policy.NetworkGraph.Node;
import org.dl4jamp.precision.LayerFamily;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationIdentity;
import org.nd4j.linalg.activations.impl.ActivationPReLU;
import org.nd4j.linalg.activations.impl.ActivationRReLU;
import org.nd4j.linalg.activations.impl.ActivationSoftmax;

/**
 * Finds what inference computes at once: a layer that multiplies, the batch normalization behind it, the sum of a
 * residual block and an activation function. Each has to be the only consumer of what comes before it. Dropout in
 * between doesn't matter: it's for training.
 */
public final class InferencePlanner {
    private final NetworkGraph graph;
    private final PrecisionPlan plan;
    private final EngineAbility ability;
    private final Map<String, Integer> turns = new HashMap<>();
    private final Map<String, List<Node>> consumers;

    private InferencePlanner(NetworkGraph graph, PrecisionPlan plan, EngineAbility ability, List<String> order) {
        this.graph = graph;
        this.plan = plan;
        this.ability = ability;
        this.consumers = graph.consumers();
        order.forEach(name -> turns.put(name, turns.size()));
    }

    /**
     * Returns the groups of a plan.
     *
     * @param order the names of all nodes in the order in which the network computes them
     */
    public static InferencePlan groups(
            NetworkGraph graph, PrecisionPlan plan, EngineAbility ability, List<String> order) {
        InferencePlanner planner = new InferencePlanner(graph, plan, ability, order);
        // Of the two inputs of a sum only the later one leads a group with it, so no node follows in two groups.
        List<FusionGroup> found = order.stream()
                .flatMap(name -> planner.ledBy(graph.node(name)).stream())
                .toList();
        return planner.placed(found, order).explained();
    }

    private Optional<FusionGroup> ledBy(Node head) {
        if (!head.isLayer() || !isTheEngines(head) || !canLead(inner(head))) {
            return Optional.empty();
        }
        Optional<Node> normalization =
                follower(head).filter(node -> node.isLayer() && canFold(inner(head), inner(node)));
        Node last = normalization.orElse(head);
        Optional<Node> sum = follower(last).filter(node -> adds(head, node));
        Node summed = sum.orElse(last);
        Optional<Node> function = follower(summed)
                .filter(node -> node.isLayer() && function(inner(node)).isPresent());
        return supported(head, normalization, sum, function)
                .or(() -> supported(head, normalization, sum, Optional.empty()))
                .or(() -> supported(head, normalization, Optional.empty(), Optional.empty()));
    }

    private Optional<FusionGroup> supported(
            Node head, Optional<Node> normalization, Optional<Node> sum, Optional<Node> function) {
        FusionGroup group = new FusionGroup(
                head.name(),
                normalization.map(Node::name),
                sum.map(node -> new FusionGroup.Sum(
                        node.name(),
                        1 - node.inputs().indexOf(normalization.orElse(head).name()),
                        false)),
                function.map(Node::name),
                Optional.empty());
        IActivation applied = function.flatMap(node -> function(inner(node))).orElse(null);
        Layer computed = configuration(inner(head), normalization.isPresent(), applied);
        boolean able =
                ability.cannot(computed, plan.row(head.name()).precision()).isEmpty()
                        && (sum.isEmpty() || ability.sums(computed));
        return group.followers().isEmpty() || !able ? Optional.empty() : Optional.of(group);
    }

    /** Returns the layer inside DL4J's wrappers for frozen layers, which stay around it. */
    private static Layer inner(Node node) {
        return LayerKinds.frozen(node.layer());
    }

    private boolean isTheEngines(Node node) {
        return !node.networkInput()
                && !ability.name().equals(PrecisionPlanner.UNTOUCHED)
                && plan.row(node.name()).engine().equals(ability.name());
    }

    /** Returns the only consumer of a node, if the engine computes it and its output has the same type. */
    private Optional<Node> follower(Node node) {
        List<Node> all = consumers.get(node.name());
        if (all.size() != 1 || node.networkOutput()) {
            return Optional.empty();
        }
        Node next = all.get(0);
        boolean sameType = isTheEngines(next)
                && plan.row(next.name()).output() == plan.row(node.name()).output();
        return sameType && next.preProcessor() == null ? Optional.of(next) : Optional.empty();
    }

    /** Returns whether a vertex adds to a head's result what is there already at the head's turn. */
    private boolean adds(Node head, Node node) {
        return !node.isLayer()
                && node.vertex().getClass() == ElementWiseVertex.class
                && ((ElementWiseVertex) node.vertex()).getOp() == ElementWiseVertex.Op.Add
                && node.inputs().size() == 2
                && node.inputs().stream().anyMatch(input -> turns.get(input) < turns.get(head.name()));
    }

    /**
     * Gives a buffer to each group, and to each layer in none, whose result has a known last reader. A result that may
     * be written over a summand has one all the same, for passes in which the summand isn't in its own.
     */
    private InferencePlan placed(List<FusionGroup> groups, List<String> order) {
        Map<String, FusionGroup> led = new HashMap<>();
        Set<String> followers = new HashSet<>();
        groups.forEach(group -> {
            led.put(group.head(), group);
            followers.addAll(group.followers());
        });
        Map<Integer, Integer> lastTurns = new HashMap<>();
        Map<String, Set<Integer>> holders = new HashMap<>();
        List<FusionGroup> placed = new ArrayList<>();
        Map<String, Integer> places = new HashMap<>();
        for (String name : order) {
            Optional<FusionGroup> group = Optional.ofNullable(led.get(name));
            String tail = group.map(FusionGroup::tail).orElse(name);
            boolean alone = group.isEmpty() && !followers.contains(name) && isPlaceable(graph.node(name));
            List<Node> readers = consumers.get(tail);
            if ((group.isEmpty() && !alone) || !readers.stream().allMatch(this::makesItsOwn)) {
                group.ifPresent(placed::add);
                continue;
            }
            int begin = turns.get(name);
            int end = readers.stream()
                    .mapToInt(node -> turns.get(node.name()))
                    .max()
                    .orElse(turns.get(tail));
            int place = 0;
            while (lastTurns.getOrDefault(place, -1) >= begin) {
                place++;
            }
            Set<Integer> own = new HashSet<>(group.flatMap(this::endedSummand)
                    .map(summand -> holders.getOrDefault(summand, Set.of()))
                    .orElse(Set.of()));
            int number = place;
            group.ifPresentOrElse(
                    found -> placed.add(found.at(number, !own.isEmpty())), () -> places.put(name, number));
            own.add(place);
            own.forEach(holder -> lastTurns.merge(holder, end, Math::max));
            holders.put(tail, own);
        }
        return new InferencePlan(plan, placed, places);
    }

    /** Returns the summand of a group, if all other readers of it have had their turns before the head's. */
    private Optional<String> endedSummand(FusionGroup group) {
        return group.sum()
                .map(sum -> graph.node(sum.vertex()).inputs().get(sum.summand()))
                .filter(summand -> consumers.get(summand).stream()
                        .allMatch(reader ->
                                reader.name().equals(group.sum().orElseThrow().vertex())
                                        || turns.get(reader.name()) < turns.get(group.head())));
    }

    /** Returns whether a node's output is an array of its own, and no part of its input. */
    private boolean makesItsOwn(Node node) {
        if (!isTheEngines(node)) {
            return false;
        }
        if (!node.isLayer()) {
            return node.vertex().getClass() == ElementWiseVertex.class;
        }
        LayerFamily family = LayerKinds.family(node.layer());
        return isPlaceable(node) || family == LayerFamily.OUTPUT || family == LayerFamily.LOSS;
    }

    /** Returns whether a node is a layer whose output the engine may be told to write to a buffer. */
    private boolean isPlaceable(Node node) {
        if (!node.isLayer() || !isTheEngines(node)) {
            return false;
        }
        LayerFamily family = LayerKinds.family(node.layer());
        return family == LayerFamily.PRODUCTS
                || family == LayerFamily.POOLING
                || inner(node) instanceof ZeroPaddingLayer;
    }

    // Whether a layer returns its products as they are. In sequences a mask comes between a layer and the next one.
    // DL4J adds weight noise to biases in inference, too.
    private static boolean canLead(Layer layer) {
        boolean multiplies = layer instanceof DenseLayer dense
                ? !dense.hasLayerNorm()
                : layer instanceof ConvolutionLayer && !(layer instanceof Convolution1DLayer);
        return multiplies
                && LayerTable.lists(layer.getClass())
                && ((BaseLayer) layer).getWeightNoise() == null
                && ((BaseLayer) layer).getActivationFn().getClass() == ActivationIdentity.class;
    }

    /**
     * Returns whether a layer is a batch normalization of the channels that a head makes. It has one channel axis for
     * images and vectors. Subclasses may compute anything.
     */
    private static boolean canFold(Layer head, Layer follower) {
        boolean volumes = head instanceof Convolution3D || head instanceof Deconvolution3D;
        if (volumes || follower.getClass() != BatchNormalization.class) {
            return false;
        }
        BatchNormalization normalization = (BatchNormalization) follower;
        boolean sameFormat = !(head instanceof ConvolutionLayer convolution)
                || convolution.getCnn2dDataFormat() == normalization.getCnn2DFormat();
        return sameFormat && normalization.getNOut() == channels((FeedForwardLayer) head);
    }

    private static long channels(FeedForwardLayer head) {
        return head instanceof DepthwiseConvolution2D depthwise
                ? depthwise.getNIn() * depthwise.getDepthMultiplier()
                : head.getNOut();
    }

    /** Returns the function that a layer applies to each value, if that's all it does, the same in each pass. */
    private static Optional<IActivation> function(Layer layer) {
        if (layer.getClass() != ActivationLayer.class) {
            return Optional.empty();
        }
        IActivation function = ((ActivationLayer) layer).getActivationFn();
        boolean ofOneValue = function.getClass().getPackage() == ActivationIdentity.class.getPackage()
                && !(function instanceof ActivationSoftmax
                        || function instanceof ActivationPReLU
                        || function instanceof ActivationRReLU);
        return ofOneValue ? Optional.of(function) : Optional.empty();
    }

    /**
     * Returns the configuration of a layer that computes what a product layer and those behind it compute.
     *
     * @param head the product layer's, which stays as it is
     * @param normalized whether a batch normalization is folded in, which takes a bias
     * @param function applied to the result; null for nothing
     */
    public static Layer configuration(Layer head, boolean normalized, IActivation function) {
        BaseLayer own = (BaseLayer) head.clone();
        if (normalized && own instanceof DenseLayer dense) {
            dense.setHasBias(true);
        }
        if (normalized && own instanceof ConvolutionLayer convolution) {
            convolution.setHasBias(true);
        }
        if (function != null) {
            own.setActivationFn(function);
        }
        return own;
    }
}
