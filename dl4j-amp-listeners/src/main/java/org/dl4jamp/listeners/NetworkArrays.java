package org.dl4jamp.listeners;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.policy.PrecisionPlan;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.rng.Random;
import org.nd4j.linalg.factory.Nd4j;

/** The arrays of a network's layers in the middle of a step: features, outputs, and gradients of parameters. */
final class NetworkArrays {
    /** An array of a layer or vertex. */
    record Named(String layer, String what, INDArray array) {
        /** Returns the range of its numbers, in single precision. */
        SkipReport.Range range() {
            try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
                double largest = 0;
                long nonFinite = 0;
                for (float number : array.castTo(DataType.FLOAT).dup('c').data().asFloat()) {
                    if (Float.isFinite(number)) {
                        largest = Math.max(largest, Math.abs(number));
                    } else {
                        nonFinite++;
                    }
                }
                return new SkipReport.Range(layer, what, largest, nonFinite, array.length());
            }
        }
    }

    /**
     * A layer or vertex.
     *
     * @param prefix what the names of its parameters begin with in the network
     * @param parameters their names in the layer
     */
    private record Node(String name, String prefix, Set<String> parameters) {}

    private final Model model;
    /** Layers and vertices in the order of the forward pass. */
    private final List<Node> nodes = new ArrayList<>();

    NetworkArrays(Model model, PrecisionPlan plan) {
        this.model = model;
        if (model instanceof MultiLayerNetwork network) {
            for (int i = 0; i < network.getnLayers(); i++) {
                nodes.add(new Node(
                        plan.rows().get(i).name(),
                        i + "_",
                        network.getLayer(i).paramTable(false).keySet()));
            }
        } else {
            ComputationGraph graph = (ComputationGraph) model;
            for (int index : graph.topologicalSortOrder()) {
                GraphVertex vertex = graph.getVertices()[index];
                Map<String, INDArray> parameters = vertex.paramTable(false);
                nodes.add(new Node(
                        vertex.getVertexName(),
                        vertex.getVertexName() + "_",
                        parameters == null ? Set.of() : parameters.keySet()));
            }
        }
    }

    /** Returns the features of the batch. */
    List<Named> features() {
        INDArray[] features = model instanceof MultiLayerNetwork network
                ? new INDArray[] {network.getInput()}
                : ((ComputationGraph) model).getInputs();
        List<Named> named = new ArrayList<>();
        for (int i = 0; features != null && i < features.length; i++) {
            if (features[i] != null && features[i].dataType().isFPType()) {
                String input = model instanceof ComputationGraph graph
                        ? graph.getConfiguration().getNetworkInputs().get(i)
                        : "input";
                named.add(new Named(input, "features", features[i]));
            }
        }
        return named;
    }

    /** Returns the gradients of all parameters, in the order of the backward pass. */
    List<Named> gradients() {
        Map<String, INDArray> all = model.gradient().gradientForVariable();
        List<Named> named = new ArrayList<>();
        List<Node> backward = new ArrayList<>(nodes);
        Collections.reverse(backward);
        for (Node node : backward) {
            for (String parameter : node.parameters()) {
                INDArray gradient = all.get(node.prefix() + parameter);
                if (gradient != null) {
                    named.add(new Named(node.name(), "gradient of " + parameter, gradient));
                }
            }
        }
        return named;
    }

    /**
     * Runs the batch forward once more, and returns the outputs of all layers and vertices in training, in the order of
     * the forward pass. Returns none for truncated backpropagation through time.
     */
    List<Named> outputs() {
        Random random = Nd4j.getRandom();
        long root = random.rootState();
        long node = random.nodeState();
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            List<Named> named = new ArrayList<>();
            if (model instanceof MultiLayerNetwork network) {
                if (network.getLayerWiseConfigurations().getBackpropType() == BackpropType.Standard) {
                    List<INDArray> outputs = network.feedForward(true, false);
                    for (int i = 0; i < nodes.size(); i++) {
                        named.add(new Named(nodes.get(i).name(), "output", outputs.get(i + 1)));
                    }
                }
            } else if (((ComputationGraph) model).getConfiguration().getBackpropType() == BackpropType.Standard) {
                ComputationGraph graph = (ComputationGraph) model;
                Map<String, INDArray> outputs = graph.feedForward(true, false, false);
                List<String> inputs = graph.getConfiguration().getNetworkInputs();
                nodes.stream()
                        .map(Node::name)
                        .filter(name -> outputs.get(name) != null && !inputs.contains(name))
                        .forEach(name -> named.add(new Named(name, "output", outputs.get(name))));
            }
            return named;
        } finally {
            random.setStates(root, node);
        }
    }
}
