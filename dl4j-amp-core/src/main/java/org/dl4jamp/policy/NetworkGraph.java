package org.dl4jamp.policy;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.InputPreProcessor;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.graph.LayerVertex;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.params.EmptyParamInitializer;
import org.dl4jamp.precision.AmpException;

/**
 * The layers and vertices of a network and what feeds them, as its configuration has it. Immutable, though the
 * configurations that its nodes refer to are not.
 *
 * @param nodes network inputs, layers and vertices in topological order: a node comes after all of its inputs
 */
public record NetworkGraph(List<Node> nodes) {
    /**
     * A network input, layer or vertex. Its one output is the tensor that the nodes which name it as input are given.
     *
     * @param name for layers of a {@link MultiLayerConfiguration} the layer's name, or its index if that is missing or
     *     not unique; otherwise as in the configuration. DL4J's builder itself calls unnamed layers "layer" with their
     *     index
     * @param index for layers of a {@link MultiLayerConfiguration} the layer's index, and -1 for its input; otherwise
     *     the position in {@link #nodes()}
     * @param layer null for network inputs and vertices without a layer
     * @param vertex null for network inputs and layers of a {@link MultiLayerConfiguration}
     * @param preProcessor changes the shape of the layer's input; null if there is none
     * @param inputs names of the nodes whose outputs are this node's inputs, in order
     * @param networkOutput whether its output is one of the network's
     * @param keepsState whether the network's own layer is the only one that can compute: its class, of a user's, keeps
     *     state in its fields
     */
    public record Node(
            String name,
            int index,
            Layer layer,
            GraphVertex vertex,
            InputPreProcessor preProcessor,
            List<String> inputs,
            boolean networkOutput,
            boolean keepsState) {
        public Node {
            inputs = List.copyOf(inputs);
        }

        private Node keepingState() {
            return new Node(name, index, layer, vertex, preProcessor, inputs, networkOutput, true);
        }

        /** Returns whether it's an input of the network. */
        public boolean networkInput() {
            return layer == null && vertex == null;
        }

        /** Returns whether a layer, rather than a network input or a vertex without a layer. */
        public boolean isLayer() {
            return layer != null;
        }

        /**
         * Returns the layer, the layer that it wraps, and so on: the outermost first. Empty for network inputs and
         * vertices.
         */
        public List<Layer> layers() {
            return LayerKinds.wrapping(layer);
        }

        /** Returns whether there is anything in it to train, or to keep from training. */
        public boolean hasParameters() {
            return isLayer()
                    ? !(layer.initializer() instanceof EmptyParamInitializer)
                    : !networkInput() && vertex.numParams(true) > 0;
        }

        /** Returns the simple name of the configuration class, for tables and messages. */
        public String className() {
            return networkInput() ? "input" : LayerKinds.name(isLayer() ? layer.getClass() : vertex.getClass());
        }
    }

    public NetworkGraph {
        nodes = List.copyOf(nodes);
    }

    /** Returns the graph of a {@link MultiLayerConfiguration}: one input and a chain of layers. */
    public static NetworkGraph of(MultiLayerConfiguration configuration) {
        List<String> names = names(configuration);
        String previous = unused("input", names);
        List<Node> nodes = new ArrayList<>();
        nodes.add(new Node(previous, -1, null, null, null, List.of(), false, false));
        for (int i = 0; i < names.size(); i++) {
            String name = names.get(i);
            boolean last = i == names.size() - 1;
            Layer layer = configuration.getConf(i).getLayer();
            InputPreProcessor before = configuration.getInputPreProcess(i);
            nodes.add(new Node(name, i, layer, null, before, List.of(previous), last, false));
            previous = name;
        }
        return new NetworkGraph(nodes);
    }

    /**
     * Returns the graph of a {@link ComputationGraphConfiguration}. Among nodes that could come next, the one that is
     * first in the configuration does.
     *
     * @throws AmpException if the configuration has a cycle, or an input that doesn't exist
     */
    public static NetworkGraph of(ComputationGraphConfiguration configuration) {
        Map<String, List<String>> inputs = new LinkedHashMap<>();
        configuration.getNetworkInputs().forEach(name -> inputs.put(name, List.of()));
        for (String name : configuration.getVertices().keySet()) {
            inputs.put(name, configuration.getVertexInputs().getOrDefault(name, List.of()));
        }
        Set<String> outputs = new HashSet<>(configuration.getNetworkOutputs());
        List<Node> nodes = new ArrayList<>();
        for (String name : topologicalOrder(inputs)) {
            GraphVertex vertex = configuration.getVertices().get(name);
            Layer layer = null;
            InputPreProcessor before = null;
            if (vertex instanceof LayerVertex layerVertex) {
                layer = layerVertex.getLayerConf().getLayer();
                before = layerVertex.getPreProcessor();
            }
            boolean output = outputs.contains(name);
            nodes.add(new Node(name, nodes.size(), layer, vertex, before, inputs.get(name), output, false));
        }
        return new NetworkGraph(nodes);
    }

    /** Returns the graph with some layers marked as {@linkplain Node#keepsState keeping state}. */
    public NetworkGraph keepingState(Set<String> names) {
        return new NetworkGraph(nodes.stream()
                .map(node -> names.contains(node.name()) ? node.keepingState() : node)
                .toList());
    }

    /**
     * Returns the node of a name.
     *
     * @throws NoSuchElementException if there is none
     */
    public Node node(String name) {
        return nodes.stream()
                .filter(node -> node.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new NoSuchElementException("no node \"" + name + "\" in the network"));
    }

    /** Returns whether a node's output is the network's, or is read by others than some nodes. */
    public boolean isReadOutside(String name, Set<String> some) {
        return node(name).networkOutput()
                || nodes.stream()
                        .anyMatch(node ->
                                !some.contains(node.name()) && node.inputs().contains(name));
    }

    /** Returns the consumers of each node's output by its name, in order; one that takes it twice is there twice. */
    public Map<String, List<Node>> consumers() {
        Map<String, List<Node>> consumers = new HashMap<>();
        nodes.forEach(node -> consumers.put(node.name(), new ArrayList<>()));
        nodes.forEach(
                node -> node.inputs().forEach(input -> consumers.get(input).add(node)));
        return consumers;
    }

    /** Returns the nodes that are layers, in order. */
    public List<Node> layers() {
        return nodes.stream().filter(Node::isLayer).toList();
    }

    private static List<String> names(MultiLayerConfiguration configuration) {
        List<String> configured = configuration.getConfs().stream()
                .map(conf -> configured(conf.getLayer()))
                .toList();
        List<String> names = new ArrayList<>();
        for (int i = 0; i < configured.size(); i++) {
            String name = configured.get(i);
            boolean ownName = !name.isEmpty() && Collections.frequency(configured, name) == 1;
            // A layer may be called "3" without being the fourth.
            names.add(ownName ? name : unused(String.valueOf(i), configured));
        }
        return names;
    }

    private static String configured(Layer layer) {
        return LayerKinds.wrapping(layer).stream()
                .map(Layer::getLayerName)
                .filter(name -> name != null && !name.isBlank())
                .findFirst()
                .orElse("");
    }

    private static String unused(String wanted, List<String> taken) {
        String name = wanted;
        while (taken.contains(name)) {
            name = "#" + name;
        }
        return name;
    }

    // Kahn's algorithm: a node follows the last of its inputs.
    private static List<String> topologicalOrder(Map<String, List<String>> inputs) {
        List<String> order = new ArrayList<>();
        inputs.forEach((name, of) -> {
            for (String input : of) {
                if (!inputs.containsKey(input)) {
                    throw new AmpException("vertex \"" + name + "\" has the input \"" + input
                            + "\", which is neither a vertex nor an input of the network; the configuration has "
                            + inputs.keySet());
                }
            }
            if (of.isEmpty()) {
                order.add(name);
            }
        });
        Set<String> before = new HashSet<>();
        for (int i = 0; i < order.size(); i++) {
            String latest = order.get(i);
            before.add(latest);
            inputs.forEach((name, of) -> {
                if (of.contains(latest) && before.containsAll(of)) {
                    order.add(name);
                }
            });
        }
        if (order.size() < inputs.size()) {
            List<String> cycle = inputs.keySet().stream()
                    .filter(name -> !order.contains(name))
                    .toList();
            throw new AmpException("the graph has a cycle through some of " + cycle
                    + ": a network needs an order in which to compute its vertices");
        }
        return order;
    }
}
