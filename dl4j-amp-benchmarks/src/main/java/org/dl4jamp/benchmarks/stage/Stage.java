package org.dl4jamp.benchmarks.stage;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.dl4jamp.benchmarks.blueprint.Blueprint;
import org.dl4jamp.benchmarks.blueprint.Operation;
import org.dl4jamp.benchmarks.blueprint.Parameter;
import org.dl4jamp.benchmarks.blueprint.Tensor;
import org.dl4jamp.benchmarks.blueprint.Tensors;

/**
 * The work of one primitive in inference: an operation with those that are fused into it.
 *
 * @param head the operation
 * @param normalization the batch normalization that is folded into the head's weights and bias
 * @param summand the output that is added to the head's, in its own memory
 * @param relu whether ReLU comes last
 * @param output the operation that this output belongs to
 */
public record Stage(
        Operation head,
        Optional<Operation.BatchNormalization> normalization,
        Optional<String> summand,
        boolean relu,
        String output) {
    /**
     * A product's weights and bias with those of the batch normalization behind it in them: scale (W x + b - mean) /
     * sqrt(variance + epsilon) + shift is a product as well.
     */
    public record Product(Tensor weights, Optional<Tensor> bias) {}

    /** Returns the weights and the bias of its head, which is a product, with its normalization in them. */
    public Product product(Tensors tensors) {
        Tensor weights = tensors.get(head, Parameter.WEIGHTS);
        Optional<Tensor> bias = bias(head, tensors);
        return normalization.map(by -> folded(weights, bias, by, tensors)).orElseGet(() -> new Product(weights, bias));
    }

    /** Returns a product's bias, if it has one. */
    public static Optional<Tensor> bias(Operation product, Tensors tensors) {
        boolean none = product instanceof Operation.Dense dense && !dense.bias();
        return none ? Optional.empty() : Optional.of(tensors.get(product, Parameter.BIAS));
    }

    private static Product folded(
            Tensor weights, Optional<Tensor> bias, Operation.BatchNormalization by, Tensors tensors) {
        float[] scale = tensors.get(by, Parameter.SCALE).values();
        float[] shift = tensors.get(by, Parameter.SHIFT).values();
        float[] mean = tensors.get(by, Parameter.MEAN).values();
        float[] variance = tensors.get(by, Parameter.VARIANCE).values();
        float[] foldedWeights = weights.values().clone();
        float[] foldedBias = bias.map(each -> each.values().clone()).orElseGet(() -> new float[scale.length]);
        int inputs = foldedWeights.length / foldedBias.length;
        for (int channel = 0; channel < foldedBias.length; channel++) {
            double factor = scale[channel] / Math.sqrt(variance[channel] + by.epsilon());
            foldedBias[channel] = (float) (factor * ((double) foldedBias[channel] - mean[channel]) + shift[channel]);
            for (int i = channel * inputs; i < (channel + 1) * inputs; i++) {
                foldedWeights[i] = (float) (factor * foldedWeights[i]);
            }
        }
        return new Product(
                new Tensor(weights.shape(), foldedWeights),
                Optional.of(new Tensor(new long[] {foldedBias.length}, foldedBias)));
    }

    /** Returns the outputs that it reads. */
    public List<String> inputs() {
        List<String> inputs = new ArrayList<>(head.inputs());
        summand.ifPresent(inputs::add);
        return inputs;
    }

    private boolean isProduct() {
        return head instanceof Operation.Convolution || head instanceof Operation.Dense;
    }

    private boolean isBareProduct() {
        return isProduct() && summand.isEmpty() && !relu;
    }

    private boolean takesRelu() {
        return isProduct() || head instanceof Operation.Add;
    }

    private Stage normalizedBy(Operation.BatchNormalization by) {
        return new Stage(head, Optional.of(by), summand, relu, by.name());
    }

    private Stage plus(String other, Operation.Add sum) {
        return new Stage(head, normalization, Optional.of(other), relu, sum.name());
    }

    private Stage rectifiedBy(Operation.Relu by) {
        return new Stage(head, normalization, summand, true, by.name());
    }

    /**
     * Returns the stages of a network.
     *
     * @throws IllegalArgumentException if it has batch normalization or ReLU that can't be fused; the message names it
     */
    public static List<Stage> of(Blueprint blueprint) {
        return new Fusing(blueprint.operations()).stages();
    }

    private static final class Fusing {
        private final List<Operation> operations;
        private final Map<String, Long> readers;
        private final Map<String, Integer> places = new HashMap<>();
        private final List<Stage> stages = new ArrayList<>();

        Fusing(List<Operation> operations) {
            this.operations = operations;
            readers = operations.stream()
                    .flatMap(operation -> operation.inputs().stream())
                    .collect(Collectors.groupingBy(Function.identity(), Collectors.counting()));
        }

        List<Stage> stages() {
            operations.forEach(this::add);
            return List.copyOf(stages);
        }

        private void add(Operation operation) {
            String input = operation.inputs().get(0);
            if (operation instanceof Operation.BatchNormalization normalization) {
                Stage before = readOnce(input).filter(Stage::isBareProduct).orElseThrow(() -> cant(operation));
                replace(input, before.normalizedBy(normalization));
            } else if (operation instanceof Operation.Relu relu) {
                replace(
                        input,
                        readOnce(input)
                                .filter(Stage::takesRelu)
                                .orElseThrow(() -> cant(operation))
                                .rectifiedBy(relu));
            } else if (operation instanceof Operation.Add sum
                    && laterProduct(sum).isPresent()) {
                String product = laterProduct(sum).get();
                String other = sum.inputs().get(product.equals(input) ? 1 : 0);
                replace(product, stages.get(places.get(product)).plus(other, sum));
            } else {
                places.put(operation.name(), stages.size());
                stages.add(new Stage(operation, Optional.empty(), Optional.empty(), false, operation.name()));
            }
        }

        private IllegalArgumentException cant(Operation operation) {
            return new IllegalArgumentException(
                    "the floor has batch normalization only behind a product, ReLU only behind that or a sum, and"
                            + " both only where nothing else reads their input: "
                            + operation.name());
        }

        /** Returns the stage that makes an output, if one thing only reads that. */
        private Optional<Stage> readOnce(String input) {
            boolean only = readers.get(input) == 1 && !input.equals(Blueprint.INPUT) && places.containsKey(input);
            return only ? Optional.of(stages.get(places.get(input))) : Optional.empty();
        }

        /**
         * Returns the later of a sum's two inputs, if it's a product that can overwrite the earlier one: nothing else
         * reads that from then on.
         */
        private Optional<String> laterProduct(Operation.Add sum) {
            String first = sum.inputs().get(0);
            String second = sum.inputs().get(1);
            if (!places.containsKey(first) || !places.containsKey(second)) {
                return Optional.empty();
            }
            boolean firstIsLater = places.get(first) > places.get(second);
            String later = firstIsLater ? first : second;
            String earlier = firstIsLater ? second : first;
            int place = places.get(later);
            boolean free = operations.stream()
                    .filter(operation -> operation.inputs().contains(earlier) && operation != sum)
                    .allMatch(operation ->
                            stageOf(operation).filter(stage -> stage < place).isPresent());
            return readOnce(later)
                    .filter(Stage::isBareProduct)
                    .filter(stage -> free)
                    .map(stage -> later);
        }

        private Optional<Integer> stageOf(Operation operation) {
            return Optional.ofNullable(places.get(operation.name()));
        }

        private void replace(String before, Stage by) {
            int place = places.get(before);
            stages.set(place, by);
            places.put(by.output(), place);
        }
    }
}
