package org.dl4jamp.benchmarks.floor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.dl4jamp.benchmarks.HalfPrecision;
import org.dl4jamp.benchmarks.blueprint.Blueprint;
import org.dl4jamp.benchmarks.blueprint.Loss;
import org.dl4jamp.benchmarks.blueprint.Model;
import org.dl4jamp.benchmarks.blueprint.Operation;
import org.dl4jamp.benchmarks.blueprint.Tensor;
import org.dl4jamp.benchmarks.blueprint.Tensors;
import org.dl4jamp.benchmarks.blueprint.Updater;
import org.dl4jamp.benchmarks.cases.BenchmarkCase;
import org.dl4jamp.benchmarks.cases.SineCase;
import org.dl4jamp.benchmarks.cases.TinyCases;
import org.dl4jamp.benchmarks.dl4j.BlueprintBuilder;
import org.dl4jamp.benchmarks.dl4j.Dl4jTraining;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class FloorTrainingTest {
    @ParameterizedTest
    @MethodSource("org.dl4jamp.benchmarks.cases.TinyCases#all")
    void itsForwardPassIsThatOfTheNetwork(BenchmarkCase benchmark) {
        Model model = model(benchmark);
        double expected;
        try (Dl4jTraining stock = Dl4jTraining.stock(
                benchmark.network(), benchmark.batch(), model.blueprint().loss())) {
            expected = stock.step();
        }
        try (FloorTraining fp32 = new FloorTraining(model, false);
                FloorTraining half = new FloorTraining(model, HalfPrecision.isHere())) {
            assertEquals(expected, fp32.step(), 1e-4 * expected, benchmark.toString());
            assertEquals(expected, half.step(), 0.03 * expected, benchmark.toString());
            assertEquals(fp32.step(), fp32.step(), 0, "no updater");
        }
    }

    @Test
    void aStepOfTheSineNetworkIsItsPrimitivesAndNothingElse() {
        int convolutions = 4;
        int norms = 3;
        int forward = convolutions + norms;
        int loss = 1;
        int backward = convolutions + (convolutions - 1) + norms;
        try (FloorTraining floor = new FloorTraining(model(new SineCase(8, 16)), false)) {
            assertEquals(forward + loss + backward, floor.primitives());
        }
    }

    @Test
    void attentionIsItsProductsAndSoftmaxAndNothingElse() {
        int firstProduct = 1;
        int matmuls = 2;
        int softmax = 1;
        int sums = 2;
        int blocks = 2;
        int output = 1;
        int products = 4;
        int forward = firstProduct + blocks * (products + matmuls + softmax + sums) + output;
        int loss = 2;
        int relu = 1;
        int branches = 2;
        int backward = firstProduct + blocks * (2 * products + 2 * matmuls + softmax + relu + branches) + 2 * output;
        try (FloorTraining floor = new FloorTraining(model(TinyCases.attention()), false)) {
            assertEquals(forward + loss + backward, floor.primitives());
        }
    }

    /** The sums are those of the gradients of the four images that are both pooled and merged. */
    @Test
    void aUnetIsItsPrimitivesAndNothingElse() {
        int convolutions = 24;
        int withRelu = 23;
        int poolings = 4;
        int upsamplings = 4;
        int merges = 4;
        int forward = convolutions + poolings + upsamplings + merges;
        int loss = 2;
        int backward = 2 * convolutions - 1 + withRelu + poolings + upsamplings + 2 * merges;
        int sums = 4;
        try (FloorTraining floor = new FloorTraining(model(TinyCases.unet()), false)) {
            assertEquals(forward + loss + backward + sums, floor.primitives());
        }
    }

    @Test
    void attentionAndLstmsInOneNetworkAreRefused() {
        Blueprint blueprint = new Blueprint(
                "both",
                List.of(
                        new Operation.Lstm("lstm", List.of(Blueprint.INPUT), false),
                        new Operation.Attention("attention", List.of("lstm"), 1)),
                new Loss(Loss.Kind.CROSS_ENTROPY, 6, 2),
                new Updater.Nesterov(1, 0));
        assertThrows(IllegalArgumentException.class, () -> new Sequences(blueprint));
    }

    @Test
    void reluOfTheFeaturesIsRefused() {
        Blueprint blueprint = new Blueprint(
                "relu",
                List.of(new Operation.Relu("first", List.of(Blueprint.INPUT))),
                new Loss(Loss.Kind.SQUARED_ERROR, 1, 1),
                new Updater.Nesterov(1, 0));
        Tensors tensors = new Tensors();
        tensors.put(Blueprint.FEATURES, new Tensor(new long[] {1, 1}, new float[1]));
        tensors.put(Blueprint.LABELS, new Tensor(new long[] {1, 1}, new float[1]));
        Model model = new Model(blueprint, tensors);
        String message = assertThrows(IllegalArgumentException.class, () -> new FloorTraining(model, false))
                .getMessage();
        assertTrue(message.contains("first"), message);
    }

    @Test
    void sequencesAreTurnedToTimeFirst() {
        Blueprint recurrent = new Blueprint(
                "lstm",
                List.of(new Operation.Lstm("lstm", List.of(Blueprint.INPUT), false)),
                new Loss(Loss.Kind.CROSS_ENTROPY, 6, 2),
                new Updater.Nesterov(1, 0));
        Tensor turned =
                new Sequences(recurrent).timeFirst(new Tensor(new long[] {2, 3}, new float[] {1, 2, 3, 4, 5, 6}));
        assertEquals(List.of(3L, 2L), List.of(turned.size(0), turned.size(1)));
        assertEquals(
                List.of(1f, 4f, 2f, 5f, 3f, 6f),
                List.of(
                        turned.values()[0],
                        turned.values()[1],
                        turned.values()[2],
                        turned.values()[3],
                        turned.values()[4],
                        turned.values()[5]));
    }

    private static Model model(BenchmarkCase benchmark) {
        return BlueprintBuilder.build(benchmark.name(), benchmark.network(), benchmark.batch());
    }
}
