package org.dl4jamp.benchmarks.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
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
import org.dl4jamp.benchmarks.side.Inference;
import org.dl4jamp.benchmarks.side.Schedule;
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
        try (Inference inference = new OnnxRuntimeInference(model, benchmark.inference(), THREADS)) {
            inference.pass();
            assertArrayEquals(expected, inference.outputs(), (float) (FP32 * largest));
            assertArrayEquals(expected, inference.outputs(), (float) (FP32 * largest), "from a state of zeros");
        }
    }
}
