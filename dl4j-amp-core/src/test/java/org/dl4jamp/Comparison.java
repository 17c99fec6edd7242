package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.engine.nd4j.Nd4jEngine;
import org.dl4jamp.precision.Precision;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.api.MultiDataSet;
import org.nd4j.linalg.factory.Nd4j;

/** Trains two copies of a network, in FP32 and in mixed precision, and compares what they do. */
final class Comparison {
    private static final long SEED = 99;

    private Comparison() {}

    /** Aborts a test where ND4J's backend can't compute in a half precision, such as BFLOAT16 on CUDA. */
    static void assumeComputed(Precision half) {
        Optional<String> reason = new Nd4jEngine().cannot(half);
        assumeTrue(reason.isEmpty(), () -> reason.orElseThrow());
    }

    /**
     * The limits for the difference of mixed precision.
     *
     * @param cosine the least cosine similarity of a gradient and its FP32 counterpart
     * @param output the largest relative error of an output and of the score
     */
    record Tolerance(double cosine, double output) {
        static final Tolerance HALF = new Tolerance(0.999, 0.01);
        static final Tolerance COARSE = new Tolerance(0.98, 0.06);
    }

    static void check(MultiLayerConfiguration configuration, DataSet data, AmpConfig config, Tolerance tolerance) {
        check(Networks.init(configuration), data, config, tolerance);
    }

    static void check(MultiLayerNetwork fp32, DataSet data, AmpConfig config, Tolerance tolerance) {
        MultiLayerNetwork mixed = fp32.clone();
        Layer[] layers = mixed.getLayers().clone();
        Map<String, INDArray> expected = seeded(() -> Gradients.of(fp32, data));
        INDArray expectedOutput = output(fp32, data);
        try (MixedPrecision amp = MixedPrecision.enable(mixed, config)) {
            assertClose(expectedOutput, output(mixed, data), tolerance.output(), "output");
            Map<String, INDArray> gradients = seeded(() -> Gradients.of(mixed, data));
            assertGradients(expected, gradients, tolerance);
            assertGradients(expected, seeded(() -> Gradients.unscaled(mixed, data)), tolerance);
            assertEquals(fp32.score(), mixed.score(), tolerance.output() * Math.abs(fp32.score()) + 1e-4, "score");
            mixed.fit(data);
            mixed.fit(data);
            assertEquals(3, amp.stepsTaken(), "steps taken");
        }
        assertArrayEquals(layers, mixed.getLayers());
        assertFinite(mixed.params());
        assertPlain((BaseMultiLayerUpdater<?>) mixed.getUpdater());
        mixed.fit(data);
    }

    static void check(ComputationGraph fp32, MultiDataSet data, AmpConfig config, Tolerance tolerance) {
        ComputationGraph mixed = copy(fp32);
        Layer[] layers = mixed.getLayers().clone();
        Object[] vertices = mixed.getVertices().clone();
        Map<String, INDArray> expected = seeded(() -> Gradients.of(fp32, data));
        INDArray[] expectedOutputs = outputs(fp32, data);
        try (MixedPrecision amp = MixedPrecision.enable(mixed, config)) {
            INDArray[] outputs = outputs(mixed, data);
            for (int i = 0; i < outputs.length; i++) {
                assertClose(expectedOutputs[i], outputs[i], tolerance.output(), "output " + i);
            }
            assertGradients(expected, seeded(() -> Gradients.of(mixed, data)), tolerance);
            assertGradients(expected, seeded(() -> Gradients.unscaled(mixed, data)), tolerance);
            assertEquals(fp32.score(), mixed.score(), tolerance.output() * Math.abs(fp32.score()) + 1e-4, "score");
            mixed.fit(data);
            mixed.fit(data);
            assertEquals(3, amp.stepsTaken(), "steps taken");
        }
        for (int i = 0; i < layers.length; i++) {
            assertSame(layers[i], mixed.getLayers()[i]);
        }
        assertArrayEquals(vertices, mixed.getVertices());
        assertFinite(mixed.params());
        assertPlain(mixed.getUpdater());
        mixed.fit(data);
    }

    /** DL4J's own {@code clone()} loses the updater of an attention vertex. */
    private static ComputationGraph copy(ComputationGraph graph) {
        ComputationGraph copy = Networks.init(
                ComputationGraphConfiguration.fromJson(graph.getConfiguration().toJson()));
        copy.setParams(graph.params().dup());
        return copy;
    }

    private static void assertPlain(BaseMultiLayerUpdater<?> updater) {
        assertTrue(updater.getClass().getName().startsWith("org.deeplearning4j"), "DL4J's own updater");
    }

    static INDArray output(MultiLayerNetwork network, DataSet data) {
        return network.output(data.getFeatures(), false, data.getFeaturesMaskArray(), data.getLabelsMaskArray());
    }

    private static INDArray[] outputs(ComputationGraph graph, MultiDataSet data) {
        return graph.output(false, data.getFeatures(), data.getFeaturesMaskArrays(), data.getLabelsMaskArrays());
    }

    /** Dropout and noise draw the same numbers in each call. */
    static <T> T seeded(Supplier<T> action) {
        Nd4j.getRandom().setSeed(SEED);
        return action.get();
    }

    /**
     * Gradients that cancel to nearly nothing, as those of a bias before batch normalization, only have to be nearly
     * nothing too.
     */
    static void assertGradients(Map<String, INDArray> expected, Map<String, INDArray> actual, Tolerance tolerance) {
        double largest =
                expected.values().stream().mapToDouble(Comparison::norm).max().orElse(0);
        Map<String, INDArray> comparable = new LinkedHashMap<>();
        Map<String, INDArray> counterparts = new LinkedHashMap<>();
        assertEquals(expected.keySet(), actual.keySet());
        expected.forEach((name, gradient) -> {
            INDArray counterpart = actual.get(name);
            assertEquals(DataType.FLOAT, counterpart.dataType(), name);
            if (norm(gradient) > 1e-4 * largest) {
                comparable.put(name, gradient);
                counterparts.put(name, counterpart);
            } else {
                assertTrue(norm(counterpart) < 2e-3 * largest, () -> name + " is " + norm(counterpart));
            }
        });
        assertTrue(largest > 0, "there are gradients to compare");
        comparable.forEach((name, gradient) -> {
            double cosine = Gradients.cosine(gradient, counterparts.get(name));
            assertTrue(cosine > tolerance.cosine(), () -> "cosine similarity of " + name + " is " + cosine);
            double ratio = norm(counterparts.get(name)) / norm(gradient);
            assertEquals(1, ratio, Math.max(0.02, 2 * tolerance.output()), () -> "length of " + name);
        });
    }

    static void assertClose(INDArray expected, INDArray actual, double relative, String what) {
        assertArrayEquals(expected.shape(), actual.shape(), what);
        assertEquals(DataType.FLOAT, actual.dataType(), what);
        double error = norm(expected.sub(actual));
        assertTrue(
                error <= relative * norm(expected) + 1e-6,
                () -> what + " is off by " + error + " of " + norm(expected));
    }

    private static double norm(INDArray array) {
        return array.norm2Number().doubleValue();
    }

    static void assertFinite(INDArray array) {
        assertTrue(Double.isFinite(norm(array)), "finite");
    }
}
