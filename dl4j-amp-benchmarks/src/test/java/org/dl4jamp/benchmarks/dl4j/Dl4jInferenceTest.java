package org.dl4jamp.benchmarks.dl4j;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.deeplearning4j.nn.api.NeuralNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.benchmarks.HalfPrecision;
import org.dl4jamp.benchmarks.blueprint.Blueprint;
import org.dl4jamp.benchmarks.blueprint.Model;
import org.dl4jamp.benchmarks.blueprint.Operation;
import org.dl4jamp.benchmarks.blueprint.Parameter;
import org.dl4jamp.benchmarks.cases.BenchmarkCase;
import org.dl4jamp.benchmarks.cases.SineCase;
import org.dl4jamp.benchmarks.cases.TinyCases;
import org.dl4jamp.benchmarks.side.Inference;
import org.dl4jamp.benchmarks.side.Task;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.ndarray.INDArray;

class Dl4jInferenceTest {
    /**
     * As in {@code InferenceAgreesTest} for PyTorch: ResNet-50's probabilities are 4 % off on CPUs without BFLOAT16.
     */
    private static final double BFLOAT16 = 0.05;

    private static final int PASSES_UNTIL_REPEATED = 3;

    @ParameterizedTest
    @MethodSource("org.dl4jamp.benchmarks.cases.TinyCases#inference")
    void inferenceModeComputesWhatStockDl4jDoes(BenchmarkCase benchmark) {
        INDArray features = benchmark.batch().getFeatures();
        float[] expected = expected(benchmark);
        assertClose(expected, Dl4jInference.stock(network(benchmark), features, benchmark.inference()), 1e-5);
        assertClose(
                expected,
                Dl4jInference.amp(network(benchmark), features, benchmark.inference(), Precision.FLOAT),
                1e-4);
        assertClose(
                expected,
                Dl4jInference.amp(network(benchmark), features, benchmark.inference(), HalfPrecision.precision()),
                BFLOAT16);
        Inference direct = Dl4jInference.direct(network(benchmark), features, benchmark.inference(), Precision.FLOAT);
        for (int i = 0; i < PASSES_UNTIL_REPEATED; i++) {
            direct.pass();
        }
        assertClose(expected, direct, 1e-4);
    }

    private static void assertClose(float[] expected, Inference inference, double tolerance) {
        try (inference) {
            inference.pass();
            float[] actual = inference.outputs();
            double largest = 0;
            for (float number : expected) {
                largest = Math.max(largest, Math.abs(number));
            }
            assertArrayEquals(expected, actual, (float) (tolerance * largest));
        }
    }

    @Test
    void autoIsSaidAndWhatWasGivenIsNot() {
        BenchmarkCase mlp = TinyCases.mlp(7);
        INDArray features = mlp.batch().getFeatures();
        try (Inference auto = Dl4jInference.auto(mlp.network(), features, Task.INFERENCE);
                Inference given = Dl4jInference.amp(mlp.network(), features, Task.INFERENCE, Precision.FLOAT)) {
            assertTrue(auto.chosen().orElseThrow().contains("engine onednn"), auto.chosen()::toString);
            assertTrue(given.chosen().isEmpty());
        }
    }

    /** Else folding would have next to nothing to do, and a side that forgot it wouldn't be found out. */
    @Test
    void runningStatisticsArentThoseOfANewNetwork() {
        SineCase sine = new SineCase(8, 16);
        NeuralNetwork network = network(sine);
        Model model = BlueprintBuilder.build("sine", network, sine.batch());
        Operation normalization = model.blueprint().operations().stream()
                .filter(Operation.BatchNormalization.class::isInstance)
                .findFirst()
                .orElseThrow();
        float[] means = model.tensors().get(normalization, Parameter.MEAN).values();
        float[] variances =
                model.tensors().get(normalization, Parameter.VARIANCE).values();
        for (int channel = 0; channel < means.length; channel++) {
            assertTrue(means[channel] != 0, "channel " + channel);
            assertTrue(variances[channel] >= 0.49 && variances[channel] <= 1.51, variances[channel] + " " + channel);
        }
        assertEquals(ParameterChecksum.of(network), ParameterChecksum.of(network(sine)));
    }

    @Test
    void aBatchHasAsManyExamplesAsItIsGiven() {
        for (BenchmarkCase benchmark :
                TinyCases.inference().map(each -> each.ofBatch(3)).toList()) {
            assertEquals(3, benchmark.minibatch(), benchmark.toString());
            assertEquals(3, benchmark.batch().getFeatures().size(0), benchmark.toString());
            assertEquals(3, benchmark.batch().getLabels().size(0), benchmark.toString());
        }
    }

    @Test
    void aNetworkIsInInferenceModeUntilItIsClosed() {
        BenchmarkCase mlp = TinyCases.mlp(7);
        NeuralNetwork network = mlp.network();
        try (Inference inference =
                Dl4jInference.amp(network, mlp.batch().getFeatures(), Task.INFERENCE, Precision.FLOAT)) {
            assertTrue(org.dl4jamp.InferenceMode.of((org.deeplearning4j.nn.api.Model) network)
                    .isPresent());
            assertTrue(
                    MixedPrecision.of((org.deeplearning4j.nn.api.Model) network).isEmpty());
            inference.pass();
        }
    }

    /** Returns the network that would be measured. */
    static NeuralNetwork network(BenchmarkCase benchmark) {
        NeuralNetwork network = benchmark.network();
        RunningStatistics.draw(network);
        return network;
    }

    private static float[] expected(BenchmarkCase benchmark) {
        return BlueprintBuilder.withOutputs(benchmark.name(), network(benchmark), benchmark.batch())
                .tensors()
                .get(Blueprint.OUTPUT)
                .values();
    }
}
