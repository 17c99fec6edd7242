package org.dl4jamp.benchmarks.floor;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.dl4jamp.benchmarks.HalfPrecision;
import org.dl4jamp.benchmarks.blueprint.Blueprint;
import org.dl4jamp.benchmarks.blueprint.Loss;
import org.dl4jamp.benchmarks.blueprint.Model;
import org.dl4jamp.benchmarks.blueprint.Operation;
import org.dl4jamp.benchmarks.blueprint.Operation.Add;
import org.dl4jamp.benchmarks.blueprint.Operation.BatchNormalization;
import org.dl4jamp.benchmarks.blueprint.Operation.Dense;
import org.dl4jamp.benchmarks.blueprint.Operation.Relu;
import org.dl4jamp.benchmarks.blueprint.Updater;
import org.dl4jamp.benchmarks.cases.BenchmarkCase;
import org.dl4jamp.benchmarks.cases.Resnet50Case;
import org.dl4jamp.benchmarks.cases.SineCase;
import org.dl4jamp.benchmarks.cases.TinyCases;
import org.dl4jamp.benchmarks.dl4j.BlueprintBuilder;
import org.dl4jamp.benchmarks.dl4j.RunningStatistics;
import org.dl4jamp.benchmarks.side.Task;
import org.dl4jamp.benchmarks.stage.Stage;
import org.dl4jamp.onednn.primitive.OneDnnLibrary;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class FloorInferenceTest {
    @ParameterizedTest
    @MethodSource("org.dl4jamp.benchmarks.cases.TinyCases#inference")
    void itsOutputsAreThoseOfTheNetwork(BenchmarkCase benchmark) {
        Model model = model(benchmark);
        float[] expected = model.tensors().get(Blueprint.OUTPUT).values();
        try (FloorInference fp32 = new FloorInference(model, false, benchmark.inference());
                FloorInference half = new FloorInference(model, HalfPrecision.isHere(), benchmark.inference())) {
            fp32.pass();
            assertArrayEquals(expected, fp32.outputs(), (float) (1e-4 * largest(expected)), benchmark.toString());
            assertArrayEquals(expected, half.outputs(), (float) (0.05 * largest(expected)), benchmark.toString());
        }
    }

    private static double largest(float[] numbers) {
        double largest = 0;
        for (float number : numbers) {
            largest = Math.max(largest, Math.abs(number));
        }
        return largest;
    }

    @Test
    void normalizationReluAndSumsTakeNoPrimitivesOfTheirOwn() {
        int convolutions = 53;
        int poolings = 2;
        int dense = 1;
        int softmax = 1;
        // Of three stages the last sum is computed at every other position: the summand is copied.
        int copies = 3;
        try (FloorInference resnet = new FloorInference(model(new Resnet50Case(160, 2, 10)), false, Task.INFERENCE)) {
            assertEquals(convolutions + poolings + dense + softmax + copies, resnet.primitives());
        }
        try (FloorInference sine = new FloorInference(model(new SineCase(8, 16)), false, Task.INFERENCE)) {
            assertEquals(4, sine.primitives());
        }
    }

    /** The three 3×3 convolutions of the last stage are of images of 3×3. Each has two copies. */
    @Test
    void smallImagesAreConvolvedInOneLongRow() {
        Model model = model(new Resnet50Case(160, 4, 10));
        float[] expected = model.tensors().get(Blueprint.OUTPUT).values();
        try (FloorInference resnet = new FloorInference(model, false, Task.INFERENCE)) {
            assertEquals(60 + 3 * 2, resnet.primitives());
            assertArrayEquals(expected, resnet.outputs(), (float) (1e-4 * largest(expected)));
        }
    }

    /** The three 3×3 convolutions of the last stage have four windows of 512 channels. Each has a copy of them. */
    @Test
    void fewWindowsAreRowsOfAProductWithAvx512() {
        Model model = model(new Resnet50Case(128, 1, 10));
        float[] expected = model.tensors().get(Blueprint.OUTPUT).values();
        try (FloorInference resnet = new FloorInference(model, false, Task.INFERENCE)) {
            assertEquals(60 + (OneDnnLibrary.hasAvx512() ? 3 : 0), resnet.primitives());
            for (int pass = 0; pass < 2; pass++) {
                resnet.pass();
                assertArrayEquals(expected, resnet.outputs(), (float) (1e-4 * largest(expected)));
            }
        }
    }

    /** There are nine tiles of up to 1,024 pixels, each with four convolutions. */
    @Test
    void pixelsOfLargeImagesAreConvolvedTileByTile() {
        Model model = model(new SineCase(95, 256));
        float[] expected = model.tensors().get(Blueprint.OUTPUT).values();
        try (FloorInference sine = new FloorInference(model, false, Task.INFERENCE)) {
            assertEquals(4 * 9, sine.primitives());
            assertArrayEquals(expected, sine.outputs(), (float) (1e-4 * largest(expected)));
        }
    }

    /** Each block is four products with the two sums in them, and the attention, which is two more and a softmax. */
    @Test
    void residualSumsOfEncoderBlocksAreInTheirProducts() {
        try (FloorInference attention = new FloorInference(model(TinyCases.attention()), false, Task.INFERENCE)) {
            assertEquals(1 + 2 * (4 + 3) + 1 + 1, attention.primitives());
        }
    }

    @Test
    void timeStepsAreAsManyTimesThePrimitives() {
        BenchmarkCase lstm = TinyCases.inference()
                .filter(each -> each.inference() == Task.TIME_STEPS)
                .findFirst()
                .orElseThrow();
        Model model = model(lstm);
        int steps = (int) model.tensors().get(Blueprint.FEATURES).size(1);
        try (FloorInference atOnce = new FloorInference(model, false, Task.INFERENCE);
                FloorInference oneByOne = new FloorInference(model, false, Task.TIME_STEPS)) {
            assertEquals(steps * atOnce.primitives(), oneByOne.primitives());
        }
    }

    @Test
    void aSumIsAddedToTheLaterProductUnlessItsSummandIsReadAgain() {
        Dense first = dense("first", Blueprint.INPUT);
        Dense second = dense("second", "first");
        Dense third = dense("third", "second");
        Add sum = new Add("sum", List.of("third", "first"));
        Relu relu = new Relu("relu", List.of("sum"));
        List<Stage> stages = stages(first, second, third, sum, relu);
        assertEquals(3, stages.size());
        assertEquals(new Stage(third, Optional.empty(), Optional.of("first"), true, "relu"), stages.get(2));

        List<Stage> readLater = stages(first, second, third, sum, relu, new Add("more", List.of("relu", "first")));
        assertEquals(5, readLater.size());
        assertTrue(readLater.stream().allMatch(stage -> stage.summand().isEmpty()), readLater.toString());
        List<Stage> readByTheProduct = stages(first, second, new Add("sum", List.of("second", "first")));
        assertTrue(readByTheProduct.stream().allMatch(stage -> stage.summand().isEmpty()), readByTheProduct.toString());
    }

    @Test
    void whatCantBeFusedIsRefusedByName() {
        assertRefused("relu", new Relu("relu", List.of(Blueprint.INPUT)));
        assertRefused("bn", new BatchNormalization("bn", List.of(Blueprint.INPUT), 1e-5, 0.9));
        assertRefused(
                "relu",
                dense("first", Blueprint.INPUT),
                new Relu("relu", List.of("first")),
                new Add("sum", List.of("relu", "first")));
        assertRefused(
                "bn",
                dense("first", Blueprint.INPUT),
                new Relu("relu", List.of("first")),
                new BatchNormalization("bn", List.of("relu"), 1e-5, 0.9));
    }

    private static void assertRefused(String name, Operation... operations) {
        String message = assertThrows(IllegalArgumentException.class, () -> stages(operations))
                .getMessage();
        assertTrue(message.endsWith(": " + name), message);
    }

    private static Dense dense(String name, String input) {
        return new Dense(name, List.of(input), true);
    }

    private static List<Stage> stages(Operation... operations) {
        return Stage.of(new Blueprint(
                "some", List.of(operations), new Loss(Loss.Kind.SQUARED_ERROR, 1, 1), new Updater.Nesterov(1, 0)));
    }

    private static Model model(BenchmarkCase benchmark) {
        NeuralNetwork network = benchmark.network();
        RunningStatistics.draw(network);
        return BlueprintBuilder.withOutputs(benchmark.name(), network, benchmark.batch());
    }
}
