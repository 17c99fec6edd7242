package org.dl4jamp.benchmarks.pytorch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.dl4jamp.benchmarks.blueprint.Blueprint;
import org.dl4jamp.benchmarks.blueprint.Model;
import org.dl4jamp.benchmarks.cases.BenchmarkCase;
import org.dl4jamp.benchmarks.cases.LstmCase;
import org.dl4jamp.benchmarks.cases.TimeStepsCase;
import org.dl4jamp.benchmarks.dl4j.BlueprintBuilder;
import org.dl4jamp.benchmarks.dl4j.RunningStatistics;
import org.dl4jamp.benchmarks.side.Inference;
import org.dl4jamp.benchmarks.side.Schedule;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The cases of {@link FrameworksAgreeTest}, and the recurrent one time step at a time: PyTorch infers what DL4J does.
 */
class InferenceAgreesTest {
    private static final double FP32 = 1e-4;
    private static final double BFLOAT16 = 0.05;

    static Stream<BenchmarkCase> cases() {
        BenchmarkCase lstm = new LstmCase("lstm", 2, 9, 6, 4, 5, Schedule.ofSteps(1, 1));
        return Stream.concat(FrameworksAgreeTest.cases(), Stream.of(new TimeStepsCase("lstm-step", lstm)));
    }

    @ParameterizedTest
    @MethodSource("cases")
    void pyTorchInfersWhatDl4jDoes(BenchmarkCase benchmark) {
        NeuralNetwork network = benchmark.network();
        RunningStatistics.draw(network);
        Model model = BlueprintBuilder.withOutputs(benchmark.name(), network, benchmark.batch());
        float[] expected = model.tensors().get(Blueprint.OUTPUT).values();
        float[] fp32 = outputs(benchmark, model, PyTorchInference.Numbers.FP32);
        assertClose(expected, fp32, FP32, benchmark + " FP32");
        if (FrameworksAgreeTest.hasHalf(model)) {
            for (PyTorchInference.Numbers half : new PyTorchInference.Numbers[] {
                PyTorchInference.Numbers.AUTOCAST, PyTorchInference.Numbers.BFLOAT16_WEIGHTS
            }) {
                float[] actual = outputs(benchmark, model, half);
                assertClose(expected, actual, BFLOAT16, benchmark + " " + half);
                assertFalse(Arrays.equals(fp32, actual), benchmark + ": not rounded with " + half);
            }
        }
    }

    private static float[] outputs(BenchmarkCase benchmark, Model model, PyTorchInference.Numbers numbers) {
        try (Inference inference = new PyTorchInference(model, numbers, benchmark.inference())) {
            inference.pass();
            return inference.outputs();
        }
    }

    private static void assertClose(float[] expected, float[] actual, double tolerance, String what) {
        double largest = 0;
        for (float number : expected) {
            largest = Math.max(largest, Math.abs(number));
        }
        assertTrue(largest > 0, what);
        assertArrayEquals(expected, actual, (float) (tolerance * largest), what);
    }
}
