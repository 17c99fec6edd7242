package org.dl4jamp.benchmarks.dl4j;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.conf.InputPreProcessor;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.graph.vertex.impl.ElementWiseVertex;
import org.deeplearning4j.nn.graph.vertex.impl.MergeVertex;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.benchmarks.blueprint.Blueprint;

/**
 * A layer of either kind of network, or a sum or merge in a graph.
 *
 * @param name unique
 * @param inputs names of nodes, or {@link Blueprint#INPUT}
 * @param layer empty for a sum or merge
 * @param preProcessor what reshapes the layer's input, if anything does
 * @param merges whether it merges its inputs
 */
record Node(
        String name,
        List<String> inputs,
        Optional<Layer> layer,
        Optional<InputPreProcessor> preProcessor,
        boolean merges) {
    /** Returns all of a network, each after its inputs. */
    static List<Node> of(NeuralNetwork network) {
        return network instanceof ComputationGraph graph ? ofGraph(graph) : ofStack((MultiLayerNetwork) network);
    }

    private static List<Node> ofStack(MultiLayerNetwork network) {
        List<Node> nodes = new ArrayList<>();
        String last = Blueprint.INPUT;
        for (int i = 0; i < network.getnLayers(); i++) {
            Layer layer = network.getLayer(i);
            String name = "layer" + i;
            nodes.add(new Node(
                    name,
                    List.of(last),
                    Optional.of(layer),
                    Optional.ofNullable(network.getLayerWiseConfigurations().getInputPreProcess(i)),
                    false));
            last = name;
        }
        return nodes;
    }

    private static List<Node> ofGraph(ComputationGraph graph) {
        List<Node> nodes = new ArrayList<>();
        String input = graph.getConfiguration().getNetworkInputs().get(0);
        for (int index : graph.topologicalSortOrder()) {
            GraphVertex vertex = graph.getVertices()[index];
            if (vertex.isInputVertex()) {
                continue;
            }
            String name = vertex.getVertexName();
            boolean merges = vertex instanceof MergeVertex;
            if (!vertex.hasLayer() && !merges && !(vertex instanceof ElementWiseVertex)) {
                throw new IllegalArgumentException(
                        "a blueprint can't have vertex " + name + ", a " + vertex.getClass());
            }
            List<String> inputs = graph.getConfiguration().getVertexInputs().get(name).stream()
                    .map(each -> each.equals(input) ? Blueprint.INPUT : each)
                    .toList();
            nodes.add(new Node(
                    name,
                    inputs,
                    Optional.ofNullable(vertex.getLayer()),
                    vertex instanceof org.deeplearning4j.nn.graph.vertex.impl.LayerVertex place
                            ? Optional.ofNullable(place.getLayerPreProcessor())
                            : Optional.empty(),
                    merges));
        }
        return nodes;
    }
}
