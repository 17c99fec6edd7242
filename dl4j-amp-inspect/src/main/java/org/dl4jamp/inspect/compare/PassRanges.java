package org.dl4jamp.inspect.compare;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.dl4jamp.inspect.compare.numbers.NumberRange;
import org.dl4jamp.inspect.compare.numbers.RangeSums;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The ranges of the numbers of several passes, by layer and parameter. */
final class PassRanges {
    private final Map<String, RangeSums> activations = new LinkedHashMap<>();
    private final Map<String, Map<String, RangeSums>> gradients = new LinkedHashMap<>();
    private double losses;
    private int passes;

    void add(Pass pass) {
        pass.activations().forEach((layer, array) -> add(activations, layer, array));
        pass.gradients().forEach((layer, of) -> {
            Map<String, RangeSums> sums = gradients.computeIfAbsent(layer, name -> new LinkedHashMap<>());
            of.forEach((parameter, array) -> add(sums, parameter, array));
        });
        losses += pass.loss();
        passes++;
    }

    private static void add(Map<String, RangeSums> sums, String name, INDArray array) {
        sums.computeIfAbsent(name, layer -> new RangeSums(array.dataType())).add(array);
    }

    Optional<NumberRange> activations(String layer) {
        return Optional.ofNullable(activations.get(layer)).map(RangeSums::range);
    }

    /** Returns the names of a layer's parameters that have gradients. */
    Set<String> parameters(String layer) {
        return gradients.getOrDefault(layer, Map.of()).keySet();
    }

    NumberRange gradient(String layer, String parameter) {
        return gradients.get(layer).get(parameter).range();
    }

    /** Returns the range of the gradients of all parameters of a layer, which are FP32 numbers. */
    Optional<NumberRange> gradients(String layer) {
        return Optional.ofNullable(gradients.get(layer)).map(of -> {
            RangeSums sums = new RangeSums(of.values().iterator().next().type());
            of.values().forEach(sums::add);
            return sums.range();
        });
    }

    /** Returns the mean loss of the batches. */
    double loss() {
        return losses / passes;
    }
}
