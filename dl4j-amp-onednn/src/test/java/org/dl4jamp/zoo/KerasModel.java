package org.dl4jamp.zoo;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.nd4j.shade.jackson.databind.ObjectMapper;

/**
 * A network as Keras describes it, with random weights: layers are added in their order, then it's written to a file.
 */
final class KerasModel {
    private final List<Map<String, Object>> layers = new ArrayList<>();
    private final List<String> names = new ArrayList<>();
    private final List<KerasFile.Weight> weights = new ArrayList<>();
    private final Random random = new Random(3);
    private final boolean functional;

    /** Makes a model without layers: of Keras' functional API, in which layers name their inputs, or sequential. */
    KerasModel(boolean functional) {
        this.functional = functional;
    }

    boolean isFunctional() {
        return functional;
    }

    /** Returns settings of a layer: names and values in turn. */
    static Map<String, Object> config(Object... namesAndValues) {
        Map<String, Object> config = new LinkedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            config.put((String) namesAndValues[i], namesAndValues[i + 1]);
        }
        return config;
    }

    /** Adds a layer, whose input in a functional model are these layers. */
    KerasModel add(String kind, String name, Map<String, Object> settings, String... inputs) {
        Map<String, Object> config = config("name", name, "trainable", true, "dtype", "float32");
        if (layers.isEmpty()) {
            config.put("batch_input_shape", settings.get("batch_input_shape"));
        }
        config.putAll(settings);
        Map<String, Object> layer = config("class_name", kind, "config", config);
        if (functional) {
            List<List<Object>> node = Stream.of(inputs)
                    .map(input -> List.<Object>of(input, 0, 0, Map.of()))
                    .toList();
            layer.put("name", name);
            layer.put("inbound_nodes", node.isEmpty() ? List.of() : List.of(node));
        }
        layers.add(layer);
        names.add(name);
        return this;
    }

    /** Gives the last layer weights of a normal distribution, with variances of one over the terms of a sum. */
    KerasModel weights(String path, String name, long terms, long... shape) {
        double deviation = Math.sqrt(1.0 / terms);
        return values(path, name, 0, deviation, shape);
    }

    /** Gives the last layer weights around a mean. */
    KerasModel values(String path, String name, double mean, double deviation, long... shape) {
        long length = LongStream.of(shape).reduce(1, Math::multiplyExact);
        List<Float> values = Stream.generate(() -> (float) (mean + deviation * random.nextGaussian()))
                .limit(length)
                .toList();
        weights.add(new KerasFile.Weight(
                names.get(names.size() - 1),
                path,
                name,
                LongStream.of(shape).boxed().toList(),
                values));
        return this;
    }

    /** Returns the weights of a layer by their name. */
    KerasFile.Weight weight(String layer, String name) {
        return weights.stream()
                .filter(weight -> weight.layer().equals(layer) && weight.name().equals(name))
                .findFirst()
                .orElseThrow();
    }

    /** Writes the file, with cross entropy of classes and gradient descent. */
    void write(Path file) throws IOException {
        Map<String, Object> config = config("name", "network", "layers", layers);
        if (functional) {
            config.put("input_layers", List.of(List.of(names.get(0), 0, 0)));
            config.put("output_layers", List.of(List.of(names.get(names.size() - 1), 0, 0)));
        }
        Map<String, Object> model = config("class_name", functional ? "Functional" : "Sequential", "config", config);
        Map<String, Object> training = config(
                "loss",
                "categorical_crossentropy",
                "metrics",
                List.of(),
                "optimizer_config",
                config(
                        "class_name",
                        "SGD",
                        "config",
                        config("learning_rate", 0.1, "decay", 0.0, "momentum", 0.0, "nesterov", false)));
        ObjectMapper json = new ObjectMapper();
        KerasFile.write(file, json.writeValueAsString(model), json.writeValueAsString(training), names, weights);
    }
}
