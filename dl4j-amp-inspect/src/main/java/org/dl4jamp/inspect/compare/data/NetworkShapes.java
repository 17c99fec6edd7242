package org.dl4jamp.inspect.compare.data;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.inputs.InputType.InputTypeRecurrent;
import org.deeplearning4j.nn.conf.layers.EmbeddingLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingSequenceLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.inspect.cost.NetworkInputs;
import org.dl4jamp.inspect.cost.Shape;
import org.dl4jamp.policy.NetworkGraph;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The shapes of the inputs and outputs of a network, without the minibatch.
 *
 * @param inputs in the order of the network's inputs
 * @param outputs in the order of the network's outputs
 */
record NetworkShapes(List<Input> inputs, List<Output> outputs) {
    /**
     * An input.
     *
     * @param name its name in the network
     * @param sizes of one example, as DL4J takes them
     * @param symbols how many symbols there are where it takes numbers of symbols; 0 if it takes any numbers
     * @param sequence whether it takes sequences
     * @param channelsLast whether the values of a time step are the last axis, and not the time steps
     */
    record Input(String name, List<Long> sizes, long symbols, boolean sequence, boolean channelsLast) {}

    /**
     * An output.
     *
     * @param name its name in the network
     * @param sizes of one example
     * @param targets the kind of labels
     */
    record Output(String name, List<Long> sizes, Targets targets) {}

    /**
     * Finds the shapes. Runs one example of zeros through the network for those of outputs.
     *
     * @param given sizes of the inputs as a user gives them, see {@link NetworkInputs#shapes}; may be empty
     * @param timesteps how long sequences are
     * @throws AmpException if they can't be told, or the network can't run with them
     */
    static NetworkShapes of(Model network, List<String> given, int timesteps) {
        NetworkGraph graph = graph(network);
        Map<String, Shape> shapes = new NetworkInputs(graph, timesteps).shapes(given);
        List<Input> inputs = graph.nodes().stream()
                .filter(NetworkGraph.Node::networkInput)
                .map(node -> input(node.name(), shapes.get(node.name()), graph))
                .toList();
        INDArray[] zeros = inputs.stream()
                .map(input -> Nd4j.zeros(DataType.FLOAT, withExamples(1, input.sizes())))
                .toArray(INDArray[]::new);
        INDArray[] results = output(network, zeros);
        List<Output> outputs = new ArrayList<>();
        for (NetworkGraph.Node node : outputs(network, graph)) {
            List<Long> sizes = Arrays.stream(results[outputs.size()].shape())
                    .skip(1)
                    .boxed()
                    .toList();
            outputs.add(new Output(node.name(), sizes, Targets.of(node)));
        }
        return new NetworkShapes(inputs, outputs);
    }

    private static NetworkGraph graph(Model network) {
        return network instanceof MultiLayerNetwork layers
                ? NetworkGraph.of(layers.getLayerWiseConfigurations())
                : NetworkGraph.of(((ComputationGraph) network).getConfiguration());
    }

    private static List<NetworkGraph.Node> outputs(Model network, NetworkGraph graph) {
        return network instanceof ComputationGraph of
                ? of.getConfiguration().getNetworkOutputs().stream()
                        .map(graph::node)
                        .toList()
                : List.of(graph.nodes().get(graph.nodes().size() - 1));
    }

    private static Input input(String name, Shape shape, NetworkGraph graph) {
        List<Long> sizes = Arrays.stream(shape.type().getShape(false)).boxed().toList();
        long symbols = graph.consumers().get(name).stream()
                .flatMap(node -> node.layers().stream())
                .mapToLong(NetworkShapes::symbols)
                .max()
                .orElse(0);
        boolean sequence = shape.type() instanceof InputTypeRecurrent;
        boolean channelsLast = shape.type() instanceof InputTypeRecurrent steps && steps.getFormat() == RNNFormat.NWC;
        return new Input(name, sizes, symbols, sequence, channelsLast);
    }

    private static long symbols(Layer layer) {
        if (layer instanceof EmbeddingLayer embedding) {
            return embedding.getNIn();
        }
        return layer instanceof EmbeddingSequenceLayer embedding ? embedding.getNIn() : 0;
    }

    private static INDArray[] output(Model network, INDArray[] inputs) {
        try {
            return network instanceof MultiLayerNetwork layers
                    ? new INDArray[] {layers.output(inputs[0])}
                    : ((ComputationGraph) network).output(inputs);
        } catch (RuntimeException e) {
            String shapes = Arrays.stream(inputs)
                    .map(input -> Arrays.toString(input.shape()))
                    .collect(Collectors.joining(", "));
            throw new AmpException(
                    "the network can't run with inputs of " + shapes + " ("
                            + AmpException.quote(
                                    e.toString().lines().findFirst().orElse(""))
                            + "); give their sizes with --input",
                    e);
        }
    }

    /** Returns the shape of a batch. */
    static long[] withExamples(long examples, List<Long> sizes) {
        return LongStream.concat(LongStream.of(examples), sizes.stream().mapToLong(Long::longValue))
                .toArray();
    }

    /** Returns how many numbers an example has. */
    static long length(List<Long> sizes) {
        return sizes.stream().reduce(1L, Math::multiplyExact);
    }
}
