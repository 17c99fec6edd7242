package org.dl4jamp;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import org.deeplearning4j.nn.api.layers.RecurrentLayer;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.precision.AmpException;
import org.nd4j.common.primitives.Pair;
import org.nd4j.evaluation.classification.Evaluation;
import org.nd4j.evaluation.classification.ROC;
import org.nd4j.evaluation.classification.ROCMultiClass;
import org.nd4j.evaluation.regression.RegressionEvaluation;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The result of a call at that moment: numbers by type, shape and value, texts, lists and tables of them, and of
 * objects that compute the class.
 */
final class Picture {
    private Picture() {}

    /** Numbers of one type and shape. */
    private record Numbers(String type, List<Long> shape, List<Double> values) {
        private static final double SMALL = 1e-3;

        /** The norm of the difference as a part of the norm of what differs. */
        double distance(Numbers other) {
            double difference = 0;
            double size = 0;
            for (int i = 0; i < values.size(); i++) {
                double one = values.get(i);
                double another = other.values.get(i);
                if (Double.compare(one, another) != 0) {
                    difference += Math.pow(one - another, 2);
                    size += Math.pow(one, 2);
                }
            }
            // Of what is not finite the difference is not a number.
            return difference == 0 ? 0 : Math.sqrt(difference) / Math.max(Math.sqrt(size), SMALL);
        }

        @Override
        public String toString() {
            return type + shape + " " + AmpException.quote(values);
        }
    }

    static Object of(Object value) {
        if (value instanceof INDArray array) {
            return array.wasClosed()
                    ? "a closed array"
                    : new Numbers(
                            array.dataType().name(),
                            Arrays.stream(array.shape()).boxed().toList(),
                            Arrays.stream(array.dup().data().asDouble()).boxed().toList());
        } else if (value instanceof Double || value instanceof Float) {
            return new Numbers(value.getClass().getSimpleName(), List.of(), List.of(((Number) value).doubleValue()));
        } else if (value instanceof Number
                || value instanceof String
                || value instanceof Boolean
                || value instanceof Enum) {
            return value.toString();
        } else if (value instanceof int[] numbers) {
            return Arrays.toString(numbers);
        } else if (value instanceof Object[] objects) {
            return of(Arrays.asList(objects));
        } else if (value instanceof Collection<?> collection) {
            List<Object> pictures = new ArrayList<>();
            collection.forEach(element -> pictures.add(of(element)));
            return pictures;
        } else if (value instanceof Map<?, ?> map) {
            Map<String, Object> pictures = new TreeMap<>();
            map.forEach((key, element) -> pictures.put(key.toString(), of(element)));
            return pictures;
        } else if (value instanceof Pair<?, ?> pair) {
            return of(Arrays.asList(pair.getFirst(), pair.getSecond()));
        } else if (value instanceof Gradient gradient) {
            return of(gradient.gradientForVariable());
        }
        return ofDl4js(value);
    }

    private static Object ofDl4js(Object value) {
        if (value instanceof MultiLayerNetwork network) {
            return of(List.of(network.getLayerWiseConfigurations(), network.params()));
        } else if (value instanceof ComputationGraph graph) {
            return of(List.of(graph.getConfiguration(), graph.params()));
        } else if (value instanceof MultiLayerConfiguration configuration) {
            return configuration.toJson();
        } else if (value instanceof ComputationGraphConfiguration configuration) {
            // DL4J takes the time for the seed of a configuration that was not given one, as by toComputationGraph().
            return configuration.toJson().replaceAll("\"seed\" : \\d+", "");
        } else if (value instanceof NeuralNetConfiguration configuration) {
            return configuration.toJson();
        } else if (value instanceof Evaluation evaluation) {
            return evaluation.getClass().getSimpleName() + evaluation.stats();
        } else if (value instanceof RegressionEvaluation evaluation) {
            return of(evaluation.averageMeanSquaredError());
        } else if (value instanceof ROC roc) {
            return of(roc.calculateAUC());
        } else if (value instanceof ROCMultiClass roc) {
            return of(roc.calculateAverageAUC());
        }
        if (value instanceof RecurrentLayer layer) {
            return of(List.of(layer.getClass().getName(), layer.rnnGetPreviousState()));
        }
        return value == null ? "null" : value.getClass().getName();
    }

    /** Returns how another picture differs from one, empty if it doesn't by more than a part of the numbers' norm. */
    static Optional<String> difference(Object expected, Object actual, double tolerance) {
        if (expected instanceof Numbers one && actual instanceof Numbers other) {
            boolean same =
                    one.type.equals(other.type) && one.shape.equals(other.shape) && one.distance(other) <= tolerance;
            return same ? Optional.empty() : Optional.of(one + " is now " + other);
        } else if (expected instanceof List<?> one && actual instanceof List<?> other && one.size() == other.size()) {
            for (int i = 0; i < one.size(); i++) {
                int position = i;
                Optional<String> found = difference(one.get(i), other.get(i), tolerance);
                if (found.isPresent()) {
                    return found.map(text -> position + ": " + text);
                }
            }
            return Optional.empty();
        } else if (expected instanceof Map<?, ?> one
                && actual instanceof Map<?, ?> other
                && one.keySet().equals(other.keySet())) {
            return one.keySet().stream()
                    .flatMap(key ->
                            difference(one.get(key), other.get(key), tolerance).map(text -> key + ": " + text).stream())
                    .findFirst();
        }
        return Objects.equals(expected, actual)
                ? Optional.empty()
                : Optional.of(fromWhereTheyPart(expected, actual) + " is now " + fromWhereTheyPart(actual, expected));
    }

    private static String fromWhereTheyPart(Object one, Object other) {
        String text = one.toString();
        String another = other.toString();
        int position = 0;
        while (position < Math.min(text.length(), another.length())
                && text.charAt(position) == another.charAt(position)) {
            position++;
        }
        return "…" + AmpException.quote(text.substring(Math.max(0, position - 20)));
    }
}
