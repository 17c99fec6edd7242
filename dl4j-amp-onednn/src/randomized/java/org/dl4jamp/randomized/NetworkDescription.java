package org.dl4jamp.randomized;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.graph.LayerVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.conf.layers.PReLULayer;
import org.deeplearning4j.nn.conf.layers.convolutional.Cropping1D;
import org.deeplearning4j.nn.conf.layers.convolutional.Cropping2D;
import org.deeplearning4j.nn.conf.layers.convolutional.Cropping3D;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.conf.layers.samediff.SameDiffVertex;
import org.deeplearning4j.nn.conf.layers.wrapper.BaseWrapperLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.randomized.Heads.Labels;

/**
 * A network's configuration, and the shapes of its data.
 *
 * @param json the configuration
 */
record NetworkDescription(String json, boolean graph, List<Input> inputs, List<Output> outputs) {

    /**
     * An input.
     *
     * @param indices how many indices of rows an example has, 0 if it has ordinary numbers
     */
    record Input(InputType type, int indices) {}

    /** An output, and the kind of its labels. */
    record Output(InputType type, Labels labels) {}

    MultiLayerConfiguration layers() {
        return MultiLayerConfiguration.fromJson(json);
    }

    ComputationGraphConfiguration vertices() {
        return ComputationGraphConfiguration.fromJson(json);
    }

    /** Returns the network with a configuration that carries settings of mixed precision, through JSON. */
    NetworkDescription carrying(AmpConfig settings) {
        String carrying = graph
                ? MixedPrecision.configure(vertices(), settings).toJson()
                : MixedPrecision.configure(layers(), settings).toJson();
        return new NetworkDescription(carrying, graph, inputs, outputs);
    }

    /** Makes the network, with parameters that no initialization would give: neutral ones hide mistakes. */
    Net network(long seed) {
        Net net;
        if (graph) {
            ComputationGraph made = new ComputationGraph(vertices());
            made.init();
            net = new GraphNet(made);
        } else {
            MultiLayerNetwork made = new MultiLayerNetwork(layers());
            made.init();
            net = new LayersNet(made);
        }
        if (net.hasParameters()) {
            net.model()
                    .params()
                    .addi(new Draw(seed)
                            .uniform(-0.15, 0.15, net.model().params().shape()));
        }
        return net;
    }

    /** Returns whether a configuration names any of these. */
    boolean names(String... words) {
        for (String word : words) {
            if (json.contains(word)) {
                return true;
            }
        }
        return false;
    }

    /** Returns whether stock DL4J computes the score of a step from memory that its backward pass may write over. */
    boolean overwritesScores() {
        return names("layers.LossLayer\"");
    }

    /** Returns whether stock DL4J's derivative of Mish, NaN for inputs above 22, may have cubes as input. */
    boolean overflowsInStock() {
        return names("ActivationMish") && names("ActivationCube");
    }

    /** Returns whether stock DL4J can train a clone: an attention vertex loses its updater. */
    boolean isCloneTrainable() {
        return !graph || !hasAVertexThatKeepsMasks();
    }

    /** Returns whether stock DL4J can pretrain layers: with weight noise it throws. */
    boolean isPretrainable() {
        return names("AutoEncoder", "VariationalAutoencoder") && !names("DropConnect", "WeightNoise");
    }

    /** Returns whether DL4J refuses to keep the state of some layers. */
    boolean hasBidirectionalLayers() {
        return names("Bidirectional");
    }

    /**
     * Returns whether time steps of stock DL4J may write outside of arrays: a layer's last time step is then the whole
     * sequence, of which the vertex that repeats vectors puts each copy into the place of a single step.
     */
    boolean duplicatesWholeSequences() {
        return names("recurrent.LastTimeStep") && names("DuplicateToTimeSeries");
    }

    /** Returns whether a first layer has gradients of weights that are products with the features. */
    boolean multipliesFeatures() {
        Class<?> first = graph ? null : layers().getConf(0).getLayer().getClass();
        return first == DenseLayer.class
                || first == ConvolutionLayer.class
                || first == LSTM.class
                || first == SimpleRnn.class;
    }

    /** Returns whether the only reader of the only input is a dense layer, which looks at the number of columns. */
    boolean refusesWiderInputs() {
        if (inputs.size() > 1
                || inputs.get(0).type().getType() != InputType.Type.FF
                || inputs.get(0).indices() > 0) {
            return false;
        }
        return !graph && layers().getConf(0).getLayer() instanceof DenseLayer;
    }

    /** Returns whether every layer takes single time steps, without their axis. */
    boolean computesStepByStep() {
        return !names(
                "1D",
                "TimeDistributed",
                "GlobalPooling",
                "RnnLoss",
                "Attention",
                "TimeSeries",
                "TimeStep",
                "PReLU",
                "WeightedSteps",
                "UsersGraph");
    }

    /**
     * Returns whether stock DL4J overwrites an array that another vertex still reads: a loss layer writes the
     * derivative into its input, and layers that work in place write into theirs in inference. Stock's numbers are
     * wrong then.
     */
    boolean isOverwrittenByStock() {
        if (!graph) {
            return false;
        }
        ComputationGraphConfiguration configuration = vertices();
        Set<String> written = overwritten();
        configuration.getVertices().forEach((name, vertex) -> {
            if (vertex instanceof LayerVertex layer
                    && layer.getLayerConf().getLayer().getClass() == LossLayer.class) {
                written.addAll(configuration.getVertexInputs().get(name));
            }
        });
        return written.stream()
                .anyMatch(array -> configuration.getVertexInputs().values().stream()
                                .filter(inputs -> inputs.contains(array))
                                .count()
                        > 1);
    }

    /**
     * Returns whether a vertex takes the masks of an earlier pass if a pass has none: stock DL4J clears only layers.
     */
    boolean hasAVertexThatKeepsMasks() {
        return graph && vertices().getVertices().values().stream().anyMatch(SameDiffVertex.class::isInstance);
    }

    /** Names what stock DL4J overwrites in inference: what activation and PReLU layers take, through views, too. */
    Set<String> overwritten() {
        Set<String> overwritten = new HashSet<>();
        if (graph) {
            ComputationGraphConfiguration configuration = vertices();
            configuration.getVertices().forEach((name, vertex) -> {
                if (vertex instanceof LayerVertex layer && isInPlace(layer.getLayerConf())) {
                    configuration
                            .getVertexInputs()
                            .get(name)
                            .forEach(input -> addTo(overwritten, configuration, input));
                }
            });
        } else {
            List<NeuralNetConfiguration> layers = layers().getConfs();
            for (int i = 0; i < layers.size(); i++) {
                if (isInPlace(layers.get(i))) {
                    int taken = i - 1;
                    overwritten.add(String.valueOf(taken));
                    while (taken >= 0 && mayReturnAView(layers.get(taken))) {
                        taken--;
                        overwritten.add(String.valueOf(taken));
                    }
                }
            }
        }
        return overwritten;
    }

    private static void addTo(Set<String> overwritten, ComputationGraphConfiguration configuration, String name) {
        overwritten.add(name);
        GraphVertex vertex = configuration.getVertices().get(name);
        boolean computes =
                vertex == null || (vertex instanceof LayerVertex layer && !mayReturnAView(layer.getLayerConf()));
        if (!computes) {
            configuration.getVertexInputs().get(name).forEach(input -> addTo(overwritten, configuration, input));
        }
    }

    /** Returns whether a layer's output in inference may be in the memory of its input. */
    private static boolean mayReturnAView(NeuralNetConfiguration layer) {
        Layer inner = inner(layer.getLayer());
        return inner instanceof Cropping1D
                || inner instanceof Cropping2D
                || inner instanceof Cropping3D
                || inner instanceof DropoutLayer;
    }

    private static boolean isInPlace(NeuralNetConfiguration layer) {
        Layer inner = inner(layer.getLayer());
        return inner instanceof ActivationLayer || inner instanceof PReLULayer;
    }

    /** Returns the layer that a wrapper freezes, or that it wraps. */
    static Layer inner(Layer layer) {
        return layer instanceof FrozenLayer frozen
                ? inner(frozen.getLayer())
                : layer instanceof BaseWrapperLayer wrapper ? inner(wrapper.getUnderlying()) : layer;
    }

    /** Returns a line for each layer or vertex. */
    List<String> lines() {
        List<String> lines = new ArrayList<>();
        inputs.forEach(input -> lines.add("input " + input));
        if (graph) {
            ComputationGraphConfiguration configuration = vertices();
            configuration
                    .getVertices()
                    .forEach((name, vertex) -> lines.add(name + " of "
                            + configuration.getVertexInputs().get(name) + ": "
                            + (vertex instanceof LayerVertex layer
                                    ? text(layer.getLayerConf()) + preProcessor(layer.getPreProcessor())
                                    : vertex.getClass().getSimpleName())));
            lines.add("outputs " + configuration.getNetworkOutputs());
        } else {
            MultiLayerConfiguration configuration = layers();
            int index = 0;
            for (NeuralNetConfiguration layer : configuration.getConfs()) {
                lines.add(index + ": " + text(layer) + preProcessor(configuration.getInputPreProcess(index)));
                index++;
            }
            lines.add(configuration.getBackpropType().toString());
        }
        outputs.forEach(output -> lines.add("output " + output));
        return lines;
    }

    /** A layer's settings but for those that most layers have. */
    private static String text(NeuralNetConfiguration layer) {
        return (layer.getLayer().getClass().getSimpleName() + " of " + inner(layer.getLayer()))
                .replaceAll("org\\.[a-z0-9.]+\\.", "")
                .replaceAll("(weightInitFn|gainInit|[A-Za-z]+)=(null|NaN|\\[]|WeightInitXavier@1|1\\.0|None), ", "")
                .replaceAll(", cudnn[A-Za-z]+=[A-Z_a-z]+", "")
                .replaceAll("super=[A-Za-z]+\\(", "(");
    }

    private static String preProcessor(Object preProcessor) {
        return preProcessor == null ? "" : ", behind " + preProcessor;
    }
}
