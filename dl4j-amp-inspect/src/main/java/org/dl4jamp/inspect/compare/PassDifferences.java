package org.dl4jamp.inspect.compare;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.dl4jamp.inspect.compare.numbers.Difference;
import org.dl4jamp.inspect.compare.numbers.DifferenceSums;

/** The differences of several passes from those of stock DL4J in FP32, by layer and parameter. */
final class PassDifferences {
    private final Map<String, DifferenceSums> activations = new HashMap<>();
    private final Map<String, Map<String, DifferenceSums>> gradients = new HashMap<>();
    private final DifferenceSums all = new DifferenceSums();

    void add(Pass reference, Pass other) {
        reference.activations().forEach((layer, array) -> {
            if (other.activations().containsKey(layer)) {
                activations
                        .computeIfAbsent(layer, name -> new DifferenceSums())
                        .add(array, other.activations().get(layer));
            }
        });
        reference
                .gradients()
                .forEach((layer, of) -> of.forEach((parameter, array) -> {
                    DifferenceSums sums = new DifferenceSums();
                    sums.add(array, other.gradients().get(layer).get(parameter));
                    gradients
                            .computeIfAbsent(layer, name -> new HashMap<>())
                            .computeIfAbsent(parameter, name -> new DifferenceSums())
                            .add(sums);
                    all.add(sums);
                }));
    }

    Optional<Difference> activations(String layer) {
        return Optional.ofNullable(activations.get(layer)).map(DifferenceSums::difference);
    }

    /** Returns the difference of the gradients of all parameters of a layer. */
    Optional<Difference> gradients(String layer) {
        return Optional.ofNullable(gradients.get(layer)).map(of -> {
            DifferenceSums sums = new DifferenceSums();
            of.values().forEach(sums::add);
            return sums.difference();
        });
    }

    Difference gradient(String layer, String parameter) {
        return gradients.get(layer).get(parameter).difference();
    }

    /** Returns the difference of all gradients of the network. */
    Difference allGradients() {
        return all.difference();
    }
}
