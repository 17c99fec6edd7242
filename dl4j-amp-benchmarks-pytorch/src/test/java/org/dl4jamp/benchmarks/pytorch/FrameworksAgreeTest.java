package org.dl4jamp.benchmarks.pytorch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.dl4jamp.benchmarks.blueprint.Model;
import org.dl4jamp.benchmarks.blueprint.Operation;
import org.dl4jamp.benchmarks.cases.AttentionCase;
import org.dl4jamp.benchmarks.cases.BenchmarkCase;
import org.dl4jamp.benchmarks.cases.BenchmarkCases;
import org.dl4jamp.benchmarks.cases.LenetCase;
import org.dl4jamp.benchmarks.cases.LstmCase;
import org.dl4jamp.benchmarks.cases.MlpCase;
import org.dl4jamp.benchmarks.cases.Resnet50Case;
import org.dl4jamp.benchmarks.cases.SineCase;
import org.dl4jamp.benchmarks.cases.TextGenerationCase;
import org.dl4jamp.benchmarks.cases.UnetCase;
import org.dl4jamp.benchmarks.dl4j.BlueprintBuilder;
import org.dl4jamp.benchmarks.dl4j.Dl4jTraining;
import org.dl4jamp.benchmarks.side.Schedule;
import org.dl4jamp.benchmarks.side.Training;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Small versions of all cases, and the smallest as they are: DL4J and PyTorch begin at the same loss and go on to the
 * same losses. Both are in one JVM here, where ND4J works with PyTorch's OpenBLAS too; to compare speeds it has to have
 * its own.
 */
class FrameworksAgreeTest {
    private static final int STEPS = 4;

    private static final Set<String> BELOW_AVX512 = Set.of("SSE41", "AVX", "AVX2", "AVX2_VNNI", "AVX2_VNNI_2");

    static Stream<BenchmarkCase> cases() {
        Schedule schedule = Schedule.ofSteps(1, 1);
        return Stream.concat(
                Stream.of(
                        new SineCase(8, 16),
                        new MlpCase("mlp", List.of(20, 30, 30, 7), 5, schedule),
                        new LstmCase("lstm", 2, 9, 6, 4, 5, schedule),
                        new LenetCase("lenet", 3, 1e-3, schedule),
                        new Resnet50Case(160, 2, 10),
                        new AttentionCase("attention", 2, 3, 12, 20, 7, 4, schedule),
                        new TextGenerationCase(6, 4, 5, schedule),
                        new UnetCase(16, 2, 8)),
                BenchmarkCases.ofTraining("small").stream());
    }

    /**
     * FP32 may differ by what the order of sums and small steps of an updater make of rounding, bf16 by its own digits.
     */
    @ParameterizedTest
    @MethodSource("cases")
    void pyTorchFollowsDl4j(BenchmarkCase benchmark) {
        NeuralNetwork network = benchmark.network();
        Model model = BlueprintBuilder.build(benchmark.name(), network, benchmark.batch());
        List<Double> dl4j = losses(
                Dl4jTraining.stock(network, benchmark.batch(), model.blueprint().loss()));
        List<Double> fp32 = losses(new PyTorchTraining(model, false));
        List<Double> half = losses(new PyTorchTraining(model, hasHalf(model)));
        assertTrue(dl4j.get(STEPS - 1) < dl4j.get(0), dl4j.toString());
        for (int step = 0; step < STEPS; step++) {
            assertEquals(dl4j.get(step), fp32.get(step), 1e-3 * dl4j.get(step), benchmark + " step " + step);
            assertEquals(dl4j.get(step), half.get(step), 0.02 * dl4j.get(step), benchmark + " step " + step);
        }
    }

    /**
     * Returns whether PyTorch computes bf16. It runs LSTMs on oneDNN if the CPU has AVX-512, and oneDNN refuses them if
     * the environment disables AVX-512. FP32 is tested then.
     */
    static boolean hasHalf(Model model) {
        boolean lowered = BELOW_AVX512.contains(
                System.getenv().getOrDefault("ONEDNN_MAX_CPU_ISA", "").toUpperCase(Locale.ROOT));
        return !lowered || model.blueprint().operations().stream().noneMatch(Operation.Lstm.class::isInstance);
    }

    private static List<Double> losses(Training training) {
        try (training) {
            List<Double> losses = new ArrayList<>();
            for (int step = 0; step < STEPS; step++) {
                losses.add(training.step());
            }
            return losses;
        }
    }
}
