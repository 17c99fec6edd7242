package org.dl4jamp.inspect.plan;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.inspect.cost.Flops;
import org.dl4jamp.inspect.cost.NetworkInputs;
import org.dl4jamp.inspect.cost.Shape;
import org.dl4jamp.inspect.cost.Shapes;
import org.dl4jamp.inspect.plan.NetworkPlan.Cast;
import org.dl4jamp.inspect.plan.NetworkPlan.Edge;
import org.dl4jamp.inspect.plan.NetworkPlan.Input;
import org.dl4jamp.inspect.plan.NetworkPlan.Layer;
import org.dl4jamp.inspect.plan.NetworkPlan.Totals;
import org.dl4jamp.policy.NetworkGraph;
import org.dl4jamp.policy.NetworkGraph.Node;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;

/**
 * Makes the plan of a network with the cost of its layers.
 *
 * <pre>
 * NetworkPlan plan = new PlanMaker().batch(32).inputs(List.of("3,224,224")).plan(network, AmpConfig.defaults());
 * </pre>
 */
public final class PlanMaker {
    /** The number of time steps of sequences whose length isn't given. */
    public static final int DEFAULT_TIMESTEPS = 50;

    private static final int FLOAT_BYTES = 4;

    private int batch = 1;
    private int timesteps = DEFAULT_TIMESTEPS;
    private List<String> inputs = List.of();

    /** Sets the number of examples of which operations and bytes are computed; 1 if this isn't called. */
    public PlanMaker batch(int examples) {
        requirePositive("batch", examples);
        batch = examples;
        return this;
    }

    /** Sets the number of time steps of sequences, {@value #DEFAULT_TIMESTEPS} if this isn't called. */
    public PlanMaker timesteps(int steps) {
        requirePositive("timesteps", steps);
        timesteps = steps;
        return this;
    }

    /** Sets the sizes of the network's inputs, as {@link NetworkInputs#shapes} takes them. */
    public PlanMaker inputs(List<String> sizes) {
        inputs = List.copyOf(AmpException.ifNull(sizes, "inputs", "sizes such as 3,224,224, or an empty list"));
        return this;
    }

    private static void requirePositive(String argument, int value) {
        if (value < 1) {
            throw new AmpException(argument + ": " + value + "; must be 1 or more");
        }
    }

    /**
     * Returns the plan that dl4j-amp uses for a network on this machine. Mixed precision is enabled and closed for it;
     * nothing is computed.
     *
     * @param network an initialized MultiLayerNetwork or ComputationGraph without mixed precision
     * @throws AmpException if mixed precision can't be enabled, or the sizes of the inputs are missing or don't fit
     */
    public NetworkPlan plan(Model network, AmpConfig config) {
        // What a user has to add comes first: enabling takes longer.
        NetworkGraph graph = graph(network);
        Shapes shapes = shapes(graph);
        try (MixedPrecision amp = MixedPrecision.enable(network, config)) {
            return plan(kind(network), graph, shapes, amp.plan(), amp.engine());
        }
    }

    /**
     * Returns the plan of a network that is described by its configuration.
     *
     * @param network {@code MultiLayerNetwork} or {@code ComputationGraph}
     * @param plan the precisions of this very graph
     * @param engine name of the engine
     * @throws AmpException if the sizes of the inputs are missing or don't fit
     */
    public NetworkPlan plan(String network, NetworkGraph graph, PrecisionPlan plan, String engine) {
        return plan(network, graph, shapes(graph), plan, engine);
    }

    private Shapes shapes(NetworkGraph graph) {
        return Shapes.of(graph, new NetworkInputs(graph, timesteps).shapes(inputs), timesteps);
    }

    private NetworkPlan plan(String network, NetworkGraph graph, Shapes shapes, PrecisionPlan plan, String engine) {
        Map<String, PrecisionPlan.Row> rows = new HashMap<>();
        plan.rows().forEach(row -> rows.put(row.name(), row));
        Set<String> insideFusions =
                plan.fusions().stream().map(PrecisionPlan.Fusion::first).collect(Collectors.toSet());
        List<Input> networkInputs = new ArrayList<>();
        List<Layer> layers = new ArrayList<>();
        List<Edge> edges = new ArrayList<>();
        for (Node node : graph.nodes()) {
            if (node.networkInput()) {
                String shape = shapes.output(node.name()).orElseThrow().toString();
                networkInputs.add(new Input(node.name(), shape));
                continue;
            }
            layers.add(layer(node, rows.get(node.name()), shapes, insideFusions.contains(node.name())));
            node.inputs().stream()
                    .distinct()
                    .forEach(from -> edges.add(new Edge(
                            from,
                            node.name(),
                            cast(rows.get(from), rows.get(node.name())).orElse(null))));
        }
        return new NetworkPlan(
                network,
                batch,
                shapes.haveSequences() ? timesteps : null,
                plan.precision(),
                engine,
                plan.note(),
                networkInputs,
                layers,
                edges,
                plan.fusions(),
                Totals.of(layers, edges));
    }

    private Layer layer(Node node, PrecisionPlan.Row row, Shapes shapes, boolean insideFusion) {
        Optional<Shape> shape = shapes.output(node.name());
        OptionalLong flops = Flops.of(node, shapes);
        Optional<Long> elements = shape.map(output -> output.elements() * batch);
        int bytes = row.output().isHalf() ? FLOAT_BYTES / 2 : FLOAT_BYTES;
        return new Layer(
                node.name(),
                node.className(),
                node.isLayer(),
                shape.map(Shape::toString).orElse(null),
                parameters(node),
                flops.isPresent() ? (Long) (flops.getAsLong() * batch) : null,
                row.precision(),
                row.output(),
                elements.map(number -> number * FLOAT_BYTES).orElse(null),
                elements.map(number -> insideFusion ? 0 : number * bytes).orElse(null),
                row.engine(),
                row.reason());
    }

    private static long parameters(Node node) {
        if (!node.isLayer()) {
            return node.vertex().numParams(true);
        }
        // Initializers count all parameters, such as the centers of a center loss, for a whole configuration only.
        NeuralNetConfiguration configuration = new NeuralNetConfiguration();
        configuration.setLayer(node.layer());
        return node.layer().initializer().numParams(configuration);
    }

    /**
     * Returns the conversion between two nodes. A layer that computes in FP32 and keeps its activations in half
     * precision, such as batch normalization, reads and writes these without one.
     *
     * @param from null for an input of the network, which is FP32
     */
    private static Optional<Cast> cast(PrecisionPlan.Row from, PrecisionPlan.Row to) {
        Precision before =
                from == null ? Precision.FLOAT : from.precision().isHalf() ? from.precision() : from.output();
        boolean keepsHalf = to.input().isHalf() && to.output().isHalf();
        Precision behind = keepsHalf ? to.input() : to.precision();
        return before.isHalf() == behind.isHalf() ? Optional.empty() : Optional.of(new Cast(before, behind));
    }

    private static NetworkGraph graph(Model network) {
        return network instanceof MultiLayerNetwork layers
                ? NetworkGraph.of(layers.getLayerWiseConfigurations())
                : NetworkGraph.of(((ComputationGraph) network).getConfiguration());
    }

    private static String kind(Model network) {
        return network instanceof MultiLayerNetwork ? "MultiLayerNetwork" : "ComputationGraph";
    }
}
