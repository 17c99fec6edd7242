package org.dl4jamp.inspect.cost;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.dl4jamp.policy.NetworkGraph;
import org.dl4jamp.policy.NetworkGraph.Node;
import org.dl4jamp.precision.AmpException;

/**
 * The shapes of a network's inputs. DL4J doesn't save them with a model. They are told from the first layers where
 * these have a fixed number of inputs; the sizes of images have to be given.
 */
public final class NetworkInputs {
    private final NetworkGraph graph;
    private final int timesteps;
    private final FirstLayers firstLayers;

    /**
     * Describes the inputs of a network.
     *
     * @param timesteps the number of time steps of sequences, 1 or more
     */
    public NetworkInputs(NetworkGraph graph, int timesteps) {
        this.graph = graph;
        this.timesteps = timesteps;
        this.firstLayers = new FirstLayers(graph, timesteps);
    }

    /**
     * Returns the shape of each input by its name.
     *
     * @param given sizes as a user writes them, one text for each input, in order: {@code 3,224,224} (channels, height,
     *     width), {@code 1,16,64,64} (channels, depth, height, width), {@code 77} (values), {@code 77,50} (values, time
     *     steps). Empty if they are to be told from the first layers
     * @throws AmpException if a text isn't one of these, their number is wrong, or none is given and the sizes can't be
     *     told
     */
    public Map<String, Shape> shapes(List<String> given) {
        List<Node> inputs = graph.nodes().stream().filter(Node::networkInput).toList();
        if (!given.isEmpty() && given.size() != inputs.size()) {
            throw new AmpException(
                    "--input: given " + times(given.size()) + ", but the network has " + inputs.size() + " inputs, "
                            + inputs.stream().map(Node::name).toList() + "; give it once for each, in this order");
        }
        Map<String, Shape> shapes = new LinkedHashMap<>();
        for (int i = 0; i < inputs.size(); i++) {
            Node input = inputs.get(i);
            InputType type = given.isEmpty() ? told(input, inputs.size()) : parsed(given.get(i), input);
            shapes.put(input.name(), new Shape(type));
        }
        return shapes;
    }

    private static String times(int number) {
        return number == 1 ? "once" : number + " times";
    }

    private InputType told(Node input, int inputs) {
        Optional<InputType> type = firstLayers.type(input);
        return type.orElseThrow(() -> new AmpException("the model has no size of its input \"" + input.name() + "\""
                + firstLayers.images(input).map(channels -> ", images").orElse("") + ": add --input "
                + firstLayers.images(input).orElse("SIZES")
                + (inputs > 1 ? ", and an --input for each of the " + inputs + " inputs, in order" : "")));
    }

    private InputType parsed(String text, Node input) {
        List<Long> sizes = new ArrayList<>();
        for (String size : text.split(",", -1)) {
            String digits = size.trim();
            if (!digits.matches("[1-9][0-9]{0,8}")) {
                throw wrong(text);
            }
            sizes.add(Long.parseLong(digits));
        }
        return switch (sizes.size()) {
            case 1 ->
                firstLayers.takesSequences(input)
                        ? InputType.recurrent(sizes.get(0), timesteps, firstLayers.sequenceFormat(input))
                        : InputType.feedForward(sizes.get(0));
            case 2 -> InputType.recurrent(sizes.get(0), sizes.get(1), firstLayers.sequenceFormat(input));
            case 3 -> InputType.convolutional(sizes.get(1), sizes.get(2), sizes.get(0), firstLayers.imageFormat(input));
            case 4 ->
                InputType.convolutional3D(
                        firstLayers.volumeFormat(input), sizes.get(1), sizes.get(2), sizes.get(3), sizes.get(0));
            default -> throw wrong(text);
        };
    }

    private static AmpException wrong(String text) {
        return new AmpException("--input " + AmpException.quote(text)
                + ": must be one to four whole numbers, such as 3,224,224 (channels, height, width), 784 (values) or"
                + " 77,50 (values, time steps)");
    }
}
