package org.dl4jamp.inspect.compare;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.Trainable;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.policy.NetworkGraph;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.rng.Random;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.factory.Nd4j;

/**
 * A copy of a network of either kind, for passes that compute the same in stock DL4J and in mixed precision. It has no
 * dropout and no weight noise, and gradients flow back through all time steps.
 */
final class ComparedNetwork {
    private static final long SEED = 20171204;

    /**
     * A layer or vertex with parameters.
     *
     * @param prefix what the names of its parameters begin with in the network
     * @param parameters their names in the layer; running statistics aren't among them
     */
    private record Owner(String name, String prefix, Trainable trainable, List<String> parameters) {}

    private final Model model;
    private final NetworkGraph graph;
    private final List<Owner> owners = new ArrayList<>();
    private final INDArray parameters;

    private ComparedNetwork(Model model, NetworkGraph graph) {
        this.model = model;
        this.graph = graph;
        parameters = model.params().dup();
        for (NetworkGraph.Node node : graph.nodes()) {
            if (!node.networkInput()) {
                add(node);
            }
        }
    }

    private void add(NetworkGraph.Node node) {
        Trainable trainable = model instanceof MultiLayerNetwork network
                ? network.getLayer(node.index())
                : ((ComputationGraph) model).getVertex(node.name());
        Map<String, INDArray> table = trainable.paramTable(false);
        if (table != null && !table.isEmpty()) {
            String prefix = (model instanceof MultiLayerNetwork ? node.index() : node.name()) + "_";
            List<String> names = table.keySet().stream()
                    .filter(trainable::updaterDivideByMinibatch)
                    .toList();
            owners.add(new Owner(node.name(), prefix, trainable, names));
        }
    }

    /**
     * Copies a network, with its parameters and without its updater's state.
     *
     * @throws AmpException if it's neither a MultiLayerNetwork nor a ComputationGraph
     */
    static ComparedNetwork copyOf(Model model) {
        if (model instanceof MultiLayerNetwork network) {
            MultiLayerConfiguration configuration = MultiLayerConfiguration.fromJson(
                    network.getLayerWiseConfigurations().toJson());
            configuration.setBackpropType(BackpropType.Standard);
            NetworkGraph graph = withoutRandomness(NetworkGraph.of(configuration));
            MultiLayerNetwork copy = new MultiLayerNetwork(configuration);
            copy.init(network.params().dup(), false);
            return new ComparedNetwork(copy, graph);
        }
        if (model instanceof ComputationGraph network) {
            ComputationGraphConfiguration configuration = ComputationGraphConfiguration.fromJson(
                    network.getConfiguration().toJson());
            configuration.setBackpropType(BackpropType.Standard);
            NetworkGraph graph = withoutRandomness(NetworkGraph.of(configuration));
            ComputationGraph copy = new ComputationGraph(configuration);
            copy.init(network.params().dup(), false);
            return new ComparedNetwork(copy, graph);
        }
        throw new AmpException(
                "network: " + (model == null ? "null" : model.getClass().getName())
                        + " can't be compared; give a MultiLayerNetwork or a ComputationGraph");
    }

    private static NetworkGraph withoutRandomness(NetworkGraph graph) {
        graph.layers().stream().flatMap(node -> node.layers().stream()).forEach(layer -> {
            takeRandomnessFrom(layer);
            if (layer instanceof Bidirectional both) {
                takeRandomnessFrom(both.getFwd());
                takeRandomnessFrom(both.getBwd());
            }
        });
        return graph;
    }

    private static void takeRandomnessFrom(Layer layer) {
        layer.setIDropout(null);
        if (layer instanceof BaseLayer base) {
            base.setWeightNoise(null);
        }
    }

    Model model() {
        return model;
    }

    NetworkGraph graph() {
        return graph;
    }

    /** Gives it the parameters again that it was made with. */
    void restoreParameters() {
        model.params().assign(parameters);
    }

    /** Rounds the parameters of the layers that a plan computes in half precision to that precision. */
    void roundParameters(PrecisionPlan plan) {
        for (Owner owner : owners) {
            DataType type = plan.row(owner.name()).precision().dataType().orElse(DataType.FLOAT);
            Map<String, INDArray> table = owner.trainable().paramTable(false);
            for (String name : owner.parameters()) {
                INDArray parameter = table.get(name);
                parameter.assign(parameter.castTo(type).castTo(DataType.FLOAT));
            }
        }
    }

    /** Returns the outputs of all layers and vertices in a forward pass of training. */
    Map<String, INDArray> activations(MultiDataSet batch) {
        Map<String, INDArray> activations = new LinkedHashMap<>();
        inRepeatableRandomness(() -> {
            if (model instanceof MultiLayerNetwork network) {
                List<INDArray> outputs = network.feedForward(batch.getFeatures(0), true);
                graph.layers().forEach(node -> activations.put(node.name(), outputs.get(node.index() + 1)));
            } else {
                Map<String, INDArray> outputs = ((ComputationGraph) model).feedForward(batch.getFeatures(), true);
                graph.nodes().stream()
                        .filter(node -> !node.networkInput() && outputs.get(node.name()) != null)
                        .forEach(node -> activations.put(node.name(), outputs.get(node.name())));
            }
        });
        return activations;
    }

    /** Runs a batch forward and backward in stock DL4J, with the present parameters. */
    Pass plain(MultiDataSet batch) {
        Map<String, INDArray> activations = activations(batch);
        if (model instanceof MultiLayerNetwork network) {
            network.setInput(batch.getFeatures(0));
            network.setLabels(batch.getLabels(0));
        } else {
            ComputationGraph network = (ComputationGraph) model;
            network.setInputs(batch.getFeatures());
            network.setLabels(batch.getLabels());
        }
        inRepeatableRandomness(() -> model.computeGradientAndScore(LayerWorkspaceMgr.noWorkspaces()));
        return new Pass(activations, gradients(), model.score());
    }

    /** Makes a training step. */
    void fit(MultiDataSet batch) {
        inRepeatableRandomness(() -> {
            if (model instanceof MultiLayerNetwork network) {
                network.fit(new DataSet(batch.getFeatures(0), batch.getLabels(0)));
            } else {
                ((ComputationGraph) model).fit(batch);
            }
        });
    }

    /** Returns copies of the gradients of the last backward pass. */
    Map<String, Map<String, INDArray>> gradients() {
        Map<String, INDArray> all = model.gradient().gradientForVariable();
        Map<String, Map<String, INDArray>> gradients = new LinkedHashMap<>();
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            for (Owner owner : owners) {
                Map<String, INDArray> of = new LinkedHashMap<>();
                for (String parameter : owner.parameters()) {
                    INDArray gradient = all.get(owner.prefix() + parameter);
                    if (gradient != null) {
                        of.put(parameter, gradient.dup('c'));
                    }
                }
                if (!of.isEmpty()) {
                    gradients.put(owner.name(), of);
                }
            }
        }
        return gradients;
    }

    /** Runs a pass. Randomness that is left, such as in activation functions, draws the same numbers in each. */
    private static void inRepeatableRandomness(Runnable pass) {
        Random random = Nd4j.getRandom();
        long root = random.rootState();
        long node = random.nodeState();
        random.setSeed(SEED);
        try {
            pass.run();
        } finally {
            random.setStates(root, node);
        }
    }
}
