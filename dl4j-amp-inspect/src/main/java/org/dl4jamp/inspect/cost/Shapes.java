package org.dl4jamp.inspect.cost;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.deeplearning4j.nn.conf.graph.PreprocessorVertex;
import org.deeplearning4j.nn.conf.graph.StackVertex;
import org.deeplearning4j.nn.conf.graph.UnstackVertex;
import org.deeplearning4j.nn.conf.graph.rnn.DuplicateToTimeSeriesVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.inputs.InputType.InputTypeRecurrent;
import org.deeplearning4j.nn.conf.layers.EmbeddingLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingSequenceLayer;
import org.deeplearning4j.nn.conf.layers.FeedForwardLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.dl4jamp.policy.LayerTable;
import org.dl4jamp.policy.NetworkGraph;
import org.dl4jamp.policy.NetworkGraph.Node;
import org.dl4jamp.precision.AmpException;

/** The shapes of a network's activations, of each node's inputs and its output. */
public final class Shapes {
    private final int timesteps;
    private final Map<String, Shape> outputs = new HashMap<>();
    private final Map<String, List<Shape>> inputs = new HashMap<>();

    private Shapes(int timesteps) {
        this.timesteps = timesteps;
    }

    /**
     * Computes the shapes from the configuration.
     *
     * @param networkInputs the shape of each of the network's inputs, by its name
     * @param timesteps the number of time steps of a sequence for which it can't be told
     * @throws AmpException if the inputs don't fit the network
     */
    public static Shapes of(NetworkGraph graph, Map<String, Shape> networkInputs, int timesteps) {
        Shapes shapes = new Shapes(timesteps);
        shapes.outputs.putAll(networkInputs);
        for (Node node : graph.nodes()) {
            if (!node.networkInput() && node.inputs().stream().allMatch(shapes.outputs::containsKey)) {
                shapes.add(node);
            }
        }
        return shapes;
    }

    /** Returns the shape of a node's output; empty behind a class of a user's that doesn't tell it. */
    public Optional<Shape> output(String node) {
        return Optional.ofNullable(outputs.get(node));
    }

    /** Returns the shapes of a node's inputs, a layer's behind its preprocessor; empty if they can't be told. */
    public List<Shape> inputs(String node) {
        return inputs.getOrDefault(node, List.of());
    }

    /** Returns whether there is a sequence among the shapes. */
    public boolean haveSequences() {
        return outputs.values().stream().anyMatch(shape -> shape.type().getType() == InputType.Type.RNN);
    }

    private void add(Node node) {
        List<Shape> from = new ArrayList<>();
        node.inputs().forEach(input -> from.add(outputs.get(input)));
        try {
            Shape output;
            if (node.isLayer()) {
                Shape input = preprocessed(node, from.get(0));
                requireFit(node, input);
                from.set(0, input);
                output = behind(node.layer(), node.index(), input);
            } else {
                output = behindVertex(node, from);
            }
            if (output.isEmpty()) {
                throw new AmpException("input shape: " + node.className() + " \"" + node.name() + "\" makes nothing of "
                        + from.get(0) + ": the network's input is too small");
            }
            inputs.put(node.name(), List.copyOf(from));
            outputs.put(node.name(), output);
        } catch (AmpException e) {
            throw e;
        } catch (RuntimeException e) {
            // DL4J refuses what doesn't fit with exceptions of many classes. Users' classes need not tell shapes.
            Class<?> type =
                    node.isLayer() ? node.layer().getClass() : node.vertex().getClass();
            if (LayerTable.lists(type)) {
                throw new AmpException(
                        "input shape: " + node.className() + " \"" + node.name() + "\" can't take " + from + " (DL4J: "
                                + AmpException.quote(
                                        e.toString().lines().findFirst().orElse("")) + ")",
                        e);
            }
        }
    }

    private Shape preprocessed(Node node, Shape input) {
        return node.preProcessor() == null
                ? input
                : input.reshaped(node.preProcessor().getOutputType(input.type()), timesteps);
    }

    private Shape behind(Layer layer, int index, Shape input) {
        if (layer instanceof LossLayer) {
            // DL4J gives it no size where nOut isn't set.
            return input;
        }
        InputType type = layer.getOutputType(index, input.type());
        if (layer instanceof EmbeddingSequenceLayer embedding && embedding.isInferInputLength()) {
            type = InputType.recurrent(embedding.getNOut(), input.channels(), embedding.getOutputFormat());
        }
        return new Shape(Shape.withTimesteps(type, known(input)), input.rows());
    }

    /** Returns the shape that a layer makes of its input. */
    static Shape behind(Layer layer, Shape input) {
        InputType type = layer.getOutputType(0, input.type());
        return new Shape(Shape.withTimesteps(type, input.timesteps()), input.rows());
    }

    private Shape behindVertex(Node node, List<Shape> from) {
        InputType[] types = from.stream().map(Shape::type).toArray(InputType[]::new);
        InputType type = node.vertex().getOutputType(node.index(), types);
        if (node.vertex() instanceof DuplicateToTimeSeriesVertex duplicate) {
            Shape like = outputs.get(duplicate.getInputName());
            return new Shape(Shape.sequence((InputTypeRecurrent) type, like == null ? timesteps : known(like)));
        }
        if (node.vertex() instanceof StackVertex) {
            return new Shape(type, from.stream().mapToLong(Shape::rows).sum());
        }
        if (node.vertex() instanceof UnstackVertex part) {
            return new Shape(type, Math.max(1, from.get(0).rows() / part.getStackSize()));
        }
        Shape first = from.get(0);
        return node.vertex() instanceof PreprocessorVertex
                ? first.reshaped(type, timesteps)
                : new Shape(Shape.withTimesteps(type, known(first)), first.rows());
    }

    private long known(Shape shape) {
        return shape.type().getType() == InputType.Type.RNN ? shape.timesteps() : timesteps;
    }

    private static void requireFit(Node node, Shape input) {
        Layer inner = node.layers().get(node.layers().size() - 1);
        boolean looksUp = inner instanceof EmbeddingLayer || inner instanceof EmbeddingSequenceLayer;
        if (inner instanceof FeedForwardLayer layer
                && !looksUp
                && layer.getNIn() > 0
                && layer.getNIn() != input.channels()) {
            throw new AmpException("input shape: " + node.className() + " \"" + node.name() + "\" takes "
                    + layer.getNIn() + " values or channels, and gets " + input.channels() + " of " + input);
        }
    }
}
