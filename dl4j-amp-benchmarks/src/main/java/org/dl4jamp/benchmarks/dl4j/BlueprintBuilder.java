package org.dl4jamp.benchmarks.dl4j;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.deeplearning4j.nn.conf.layers.GravesLSTM;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SelfAttentionLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.Upsampling2D;
import org.deeplearning4j.nn.conf.layers.ZeroPaddingLayer;
import org.deeplearning4j.nn.conf.preprocessor.CnnToFeedForwardPreProcessor;
import org.deeplearning4j.nn.conf.preprocessor.FeedForwardToCnnPreProcessor;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.params.BatchNormalizationParamInitializer;
import org.dl4jamp.benchmarks.blueprint.Blueprint;
import org.dl4jamp.benchmarks.blueprint.Loss;
import org.dl4jamp.benchmarks.blueprint.Model;
import org.dl4jamp.benchmarks.blueprint.Operation;
import org.dl4jamp.benchmarks.blueprint.Parameter;
import org.dl4jamp.benchmarks.blueprint.Tensor;
import org.dl4jamp.benchmarks.blueprint.Tensors;
import org.dl4jamp.benchmarks.blueprint.Updater;
import org.dl4jamp.benchmarks.blueprint.Window;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationIdentity;
import org.nd4j.linalg.activations.impl.ActivationReLU;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.IUpdater;

/**
 * Makes a blueprint and its numbers from a DL4J network, so that each network is written once. Refuses layers that
 * blueprints don't have.
 */
public final class BlueprintBuilder {
    private final List<Operation> operations = new ArrayList<>();
    private final Tensors tensors = new Tensors();
    private final Map<String, String> outputs = new HashMap<>(Map.of(Blueprint.INPUT, Blueprint.INPUT));
    private final Map<String, ZeroPaddingLayer> paddings = new HashMap<>();
    private final DataSet batch;
    private Tensor features;
    private IUpdater updater;
    private Loss loss;

    private BlueprintBuilder(DataSet batch) {
        this.batch = batch;
        this.features = timeBeforeFeatures(batch.getFeatures());
    }

    /**
     * Returns the model that a network and its batch are.
     *
     * @throws IllegalArgumentException if a blueprint can't describe it; the message names the layer
     */
    public static Model build(String name, NeuralNetwork network, DataSet batch) {
        BlueprintBuilder builder = new BlueprintBuilder(batch);
        Node.of(network).forEach(builder::add);
        builder.tensors.put(Blueprint.FEATURES, builder.features);
        builder.tensors.put(Blueprint.LABELS, builder.labels());
        return new Model(
                new Blueprint(name, builder.operations, builder.loss, Updaters.of(builder.updater)), builder.tensors);
    }

    /**
     * Returns the model of a network that no side but DL4J's reads: its loss is DL4J's score, the mean over examples.
     */
    public static Model none(String name, int minibatch) {
        Loss score = new Loss(Loss.Kind.SQUARED_ERROR, minibatch, minibatch);
        return new Model(new Blueprint(name, List.of(), score, new Updater.Nesterov(0, 0)), new Tensors());
    }

    /**
     * Returns the model with stock DL4J's output, which all sides' outputs are compared with. The network's state stays
     * the same.
     *
     * @throws IllegalArgumentException if a blueprint can't describe it; the message names the layer
     */
    public static Model withOutputs(String name, NeuralNetwork network, DataSet batch) {
        Model model = build(name, network, batch);
        INDArray outputs = network instanceof ComputationGraph graph
                ? graph.outputSingle(batch.getFeatures())
                : ((MultiLayerNetwork) network).output(batch.getFeatures());
        model.tensors().put(Blueprint.OUTPUT, timeBeforeFeatures(outputs));
        return model;
    }

    @SuppressWarnings("deprecation") // GravesLSTM
    private void add(Node node) {
        if (node.layer().isEmpty()) {
            append(node.name(), combination(node));
            return;
        }
        preProcess(node);
        Layer layer = node.layer().get().conf().getLayer();
        if (node.layer().get().numParams() > 0) {
            updater = layer.getUpdaterByParam(
                    node.layer().get().paramTable().keySet().iterator().next());
        }
        if (layer instanceof ZeroPaddingLayer padding) {
            paddings.put(node.name(), padding);
            outputs.put(node.name(), outputs.get(node.inputs().get(0)));
        } else if (layer instanceof Convolution1DLayer convolution && Windows.isOneStep(convolution)) {
            // DL4J computes with its [out, in, 1, 1] weights as if they were [1, in, out].
            INDArray weights = parameter(node, "W").dup('c');
            dense(node, weights.reshape('c', weights.size(1), weights.size(0)).transpose());
            activation(node, convolution.getActivationFn());
        } else if (layer instanceof ConvolutionLayer convolution && !(layer instanceof Convolution1DLayer)) {
            Window window = Windows.of(node.name(), convolution);
            append(node, (name, inputs) -> new Operation.Convolution(name, inputs, padded(node, window)));
            put(node, Parameter.WEIGHTS, parameter(node, "W"));
            put(node, Parameter.BIAS, flat(parameter(node, "b")));
            activation(node, convolution.getActivationFn());
        } else if (layer instanceof BatchNormalization normalization) {
            append(
                    node,
                    (name, inputs) -> new Operation.BatchNormalization(
                            name, inputs, normalization.getEps(), normalization.getDecay()));
            put(node, Parameter.SCALE, flat(parameter(node, "gamma")));
            put(node, Parameter.SHIFT, flat(parameter(node, "beta")));
            INDArray means = parameter(node, BatchNormalizationParamInitializer.GLOBAL_MEAN);
            put(node, Parameter.MEAN, flat(means));
            tensors.put(
                    node.name() + "/" + Parameter.VARIANCE,
                    new Tensor(
                            new long[] {means.length()},
                            RunningStatistics.variances(
                                    parameter(node, BatchNormalizationParamInitializer.GLOBAL_LOG_STD))));
        } else if (layer instanceof ActivationLayer activation) {
            outputs.put(node.name(), outputs.get(node.inputs().get(0)));
            activation(node, activation.getActivationFn());
        } else if (layer instanceof SubsamplingLayer pooling
                && pooling.getPoolingType() == org.deeplearning4j.nn.conf.layers.PoolingType.MAX) {
            Window window = Windows.of(node.name(), pooling);
            append(node, (name, inputs) -> new Operation.MaxPooling(name, inputs, window));
        } else if (layer instanceof Upsampling2D upsampling) {
            int[] factors = upsampling.getSize();
            append(node, (name, inputs) -> new Operation.Upsampling(name, inputs, factors[0], factors[1]));
        } else if (layer instanceof DropoutLayer dropout && dropout.getIDropout() == null) {
            outputs.put(node.name(), outputs.get(node.inputs().get(0)));
        } else if (layer instanceof DenseLayer dense) {
            dense(node, parameter(node, "W").transpose());
            activation(node, dense.getActivationFn());
        } else if (layer instanceof LSTM) {
            lstm(node, false, parameter(node, "RW"));
        } else if (layer instanceof GravesLSTM) {
            INDArray recurrent = parameter(node, "RW");
            lstm(node, true, LstmGates.withoutPeepholes(recurrent));
            put(node, Parameter.PEEPHOLES, LstmGates.peepholes(recurrent));
        } else if (layer instanceof SelfAttentionLayer attention && attention.isProjectInput()) {
            attention(node, attention);
        } else if (layer instanceof OutputLayer || layer instanceof RnnOutputLayer) {
            dense(node, parameter(node, "W").transpose());
            loss = Losses.ofClasses(batch.getLabels());
        } else if (layer instanceof CnnLossLayer pixels) {
            loss = Losses.ofPixels(node.name(), pixels, batch.getLabels());
        } else {
            throw new IllegalArgumentException(
                    "a blueprint can't have layer " + node.name() + ", a " + layer.getClass());
        }
    }

    private Operation combination(Node node) {
        List<String> inputs = node.inputs().stream().map(outputs::get).toList();
        if (!node.merges()) {
            return new Operation.Add(node.name(), inputs);
        }
        if (features.shape().length != 4) {
            throw new IllegalArgumentException("a blueprint merges images only, and vertex " + node.name()
                    + " is in a network of features with " + features.shape().length + " axes");
        }
        return new Operation.Merge(node.name(), inputs);
    }

    private void preProcess(Node node) {
        node.preProcessor().ifPresent(each -> {
            String input = node.inputs().get(0);
            if (each instanceof FeedForwardToCnnPreProcessor images && input.equals(Blueprint.INPUT)) {
                features = features.reshape(
                        features.size(0), images.getNumChannels(), images.getInputHeight(), images.getInputWidth());
            } else if (each instanceof CnnToFeedForwardPreProcessor) {
                String name = node.name() + "_flat";
                operations.add(new Operation.Flatten(name, List.of(outputs.get(input))));
                outputs.put(input, name);
            } else {
                throw new IllegalArgumentException(
                        "a blueprint can't have the preprocessor of layer " + node.name() + ", a " + each.getClass());
            }
        });
    }

    /** @param weights [out, in] */
    private void dense(Node node, INDArray weights) {
        append(node, (name, inputs) -> new Operation.Dense(name, inputs, true));
        put(node, Parameter.WEIGHTS, weights);
        put(node, Parameter.BIAS, flat(parameter(node, "b")));
    }

    /** @param recurrent weights without peepholes */
    private void lstm(Node node, boolean peepholes, INDArray recurrent) {
        append(node, (name, inputs) -> new Operation.Lstm(name, inputs, peepholes));
        put(node, Parameter.INPUT_WEIGHTS, LstmGates.reorder(parameter(node, "W")));
        put(node, Parameter.RECURRENT_WEIGHTS, LstmGates.reorder(recurrent));
        put(node, Parameter.BIAS, flat(LstmGates.reorder(parameter(node, "b"))));
    }

    /** Appends one product for queries, keys and values, as PyTorch users have it, the attention, and a product. */
    private void attention(Node node, SelfAttentionLayer layer) {
        String projections = node.name() + "_projections";
        String heads = node.name() + "_heads";
        operations.add(new Operation.Dense(
                projections, List.of(outputs.get(node.inputs().get(0))), false));
        INDArray[] stacked = Stream.of("Wq", "Wk", "Wv")
                .map(name -> parameter(node, name).dup('c').reshape('c', -1, layer.getNIn()))
                .toArray(INDArray[]::new);
        tensors.put(projections + "/" + Parameter.WEIGHTS, tensor(Nd4j.concat(0, stacked)));
        operations.add(new Operation.Attention(heads, List.of(projections), layer.getNHeads()));
        append(node.name(), new Operation.Dense(node.name(), List.of(heads), false));
        put(node, Parameter.WEIGHTS, parameter(node, "Wo").transpose());
    }

    private void activation(Node node, IActivation function) {
        if (function instanceof ActivationReLU) {
            String name = node.name() + "_relu";
            operations.add(new Operation.Relu(name, List.of(outputs.get(node.name()))));
            outputs.put(node.name(), name);
        } else if (!(function instanceof ActivationIdentity)) {
            throw new IllegalArgumentException(
                    "a blueprint can't have the activation of layer " + node.name() + ", " + function);
        }
    }

    /**
     * Zeros that a layer of DL4J's put around the input are the convolution's own padding, as a PyTorch user writes it.
     */
    private Window padded(Node node, Window window) {
        ZeroPaddingLayer padding = paddings.get(node.inputs().get(0));
        return padding == null ? window : window.padded(padding.getPadding()[0], padding.getPadding()[2]);
    }

    private void append(Node node, BiFunction<String, List<String>, Operation> maker) {
        append(
                node.name(),
                maker.apply(node.name(), List.of(outputs.get(node.inputs().get(0)))));
    }

    private void append(String node, Operation operation) {
        operations.add(operation);
        outputs.put(node, operation.name());
    }

    private static INDArray parameter(Node node, String name) {
        return node.layer().orElseThrow().getParam(name);
    }

    private static INDArray flat(INDArray array) {
        return array.reshape(array.length());
    }

    private void put(Node node, Parameter parameter, INDArray numbers) {
        tensors.put(node.name() + "/" + parameter, tensor(numbers));
    }

    /** Returns DL4J's input or output; sequences as [minibatch, time, features]. */
    static Tensor timeBeforeFeatures(INDArray array) {
        return tensor(array.rank() == 3 ? array.permute(0, 2, 1) : array);
    }

    private Tensor labels() {
        INDArray labels = batch.getLabels();
        return loss.kind() == Loss.Kind.CROSS_ENTROPY
                ? tensor(labels.argMax(1).castTo(org.nd4j.linalg.api.buffer.DataType.FLOAT))
                : tensor(labels);
    }

    private static Tensor tensor(INDArray array) {
        return new Tensor(array.shape(), array.dup('c').data().asFloat());
    }
}
