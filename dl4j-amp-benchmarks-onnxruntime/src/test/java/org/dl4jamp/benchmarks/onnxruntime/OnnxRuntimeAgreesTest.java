package org.dl4jamp.benchmarks.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.dl4jamp.benchmarks.blueprint.Blueprint;
import org.dl4jamp.benchmarks.blueprint.Model;
import org.dl4jamp.benchmarks.cases.AttentionCase;
import org.dl4jamp.benchmarks.cases.BenchmarkCase;
import org.dl4jamp.benchmarks.cases.LenetCase;
import org.dl4jamp.benchmarks.cases.LstmCase;
import org.dl4jamp.benchmarks.cases.MlpCase;
import org.dl4jamp.benchmarks.cases.Resnet50Case;
import org.dl4jamp.benchmarks.cases.SineCase;
import org.dl4jamp.benchmarks.cases.TextGenerationCase;
import org.dl4jamp.benchmarks.cases.TimeStepsCase;
import org.dl4jamp.benchmarks.cases.UnetCase;
import org.dl4jamp.benchmarks.dl4j.BlueprintBuilder;
import org.dl4jamp.benchmarks.dl4j.RunningStatistics;
import org.dl4jamp.benchmarks.kernels.KernelNames;
import org.dl4jamp.benchmarks.side.Inference;
import org.dl4jamp.benchmarks.side.Profile;
import org.dl4jamp.benchmarks.side.Schedule;
import org.dl4jamp.benchmarks.side.Task;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Small versions of all cases, and the recurrent one time step at a time: ONNX Runtime infers what DL4J does. */
class OnnxRuntimeAgreesTest {
    private static final double FP32 = 1e-4;
    private static final int THREADS = 2;

    static Stream<BenchmarkCase> cases() {
        Schedule schedule = Schedule.ofSteps(1, 1);
        BenchmarkCase lstm = new LstmCase("lstm", 2, 9, 6, 4, 5, schedule);
        BenchmarkCase text = new TextGenerationCase(6, 4, 5, schedule);
        return Stream.of(
                new SineCase(8, 16),
                new MlpCase("mlp", List.of(20, 30, 30, 7), 5, schedule),
                lstm,
                text,
                new LenetCase("lenet", 3, 1e-3, schedule),
                new Resnet50Case(160, 2, 10),
                new AttentionCase("attention", 2, 3, 12, 20, 7, 4, schedule),
                new UnetCase(16, 2, 8),
                new TimeStepsCase("lstm-step", lstm),
                new TimeStepsCase("textgen-step", text));
    }

    @ParameterizedTest
    @MethodSource("cases")
    void onnxRuntimeInfersWhatDl4jDoes(BenchmarkCase benchmark) {
        NeuralNetwork network = benchmark.network();
        RunningStatistics.draw(network);
        Model model = BlueprintBuilder.withOutputs(benchmark.name(), network, benchmark.batch());
        float[] expected = model.tensors().get(Blueprint.OUTPUT).values();
        double largest = 0;
        for (float number : expected) {
            largest = Math.max(largest, Math.abs(number));
        }
        assertTrue(largest > 0);
        try (Inference inference = new OnnxRuntimeInference(model, benchmark.inference(), THREADS, Optional.empty())) {
            inference.pass();
            assertArrayEquals(expected, inference.outputs(), (float) (FP32 * largest));
            assertArrayEquals(expected, inference.outputs(), (float) (FP32 * largest), "from a state of zeros");
        }
    }

    @Test
    void itsProfileNamesTheKernelsOfTheLastPasses(@TempDir Path folder) throws IOException {
        BenchmarkCase lenet = new LenetCase("lenet", 3, 1e-3, Schedule.ofSteps(1, 1));
        Model model = BlueprintBuilder.withOutputs("lenet", lenet.network(), lenet.batch());
        Path prefix = folder.resolve("profile");
        try (Inference inference = new OnnxRuntimeInference(model, Task.INFERENCE, THREADS, Optional.of(prefix))) {
            for (int pass = 0; pass < 5; pass++) {
                inference.recordKernels(pass > 1);
                inference.pass();
            }
            Profile profile = inference.kernels(2).orElseThrow();
            List<String> products = profile.parts().stream()
                    .map(Profile.Part::what)
                    // Channels are filled up to blocks, of 8 or of 16.
                    .map(name -> name.replace("→32, 2352", "→24, 2352").replace("32→64", "24→56"))
                    .filter(name -> name.contains("→"))
                    .sorted()
                    .toList();
            assertEquals(
                    List.of(
                            "1×1, 2450→500, 3 positions",
                            "1×1, 500→10, 3 positions",
                            "5×5, 1→24, 2352 positions",
                            "5×5, 24→56, 588 positions"),
                    products);
            for (Profile.Part part : profile.parts()) {
                assertTrue(part.secondsPerStep() >= 0 && part.timesPerStep() >= 1, part.toString());
            }
            assertEquals(
                    2,
                    profile.parts().stream()
                            .filter(part -> part.what().equals(KernelNames.POOLING))
                            .mapToDouble(Profile.Part::timesPerStep)
                            .sum());
        }
    }

    @Test
    void aProfileWithoutEnoughRunsIsRefused(@TempDir Path folder) throws IOException {
        BenchmarkCase steps =
                new TimeStepsCase("lstm-step", new LstmCase("lstm", 2, 9, 6, 4, 5, Schedule.ofSteps(1, 1)));
        Model model = BlueprintBuilder.withOutputs("lstm-step", steps.network(), steps.batch());
        Path prefix = folder.resolve("profile");
        try (Inference inference = new OnnxRuntimeInference(model, Task.TIME_STEPS, THREADS, Optional.of(prefix))) {
            inference.recordKernels(true);
            inference.pass();
            IOException refused = assertThrows(IOException.class, () -> inference.kernels(2));
            assertTrue(refused.getMessage().contains("measure fewer passes"), refused.getMessage());
        }
    }
}
