package org.dl4jamp.onednn;

import static org.dl4jamp.onednn.NonFiniteFeaturesTest.assertAsStock;
import static org.dl4jamp.onednn.NonFiniteFeaturesTest.config;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.function.Consumer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

/** NaN and infinite features in training mode, in passes that aren't steps: results, scores and gradients of DL4J. */
class NonFiniteFeaturesInTrainingTest {
    private static final float[] NOT_FINITE = {Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY};

    private static void forEach(NetworkOfKind kind, Precision precision, Comparison comparison) {
        ComputationGraph network = kind.make(Activation.RELU);
        ComputationGraph stock = network.clone();
        try (MixedPrecision amp = MixedPrecision.enable(network, config(precision))) {
            for (float special : NOT_FINITE) {
                comparison.compare(kind + " with " + special, stock, network, kind.inputs(special));
                comparison.compare(kind + " after " + special, stock, network, kind.inputs(7));
            }
            assertEquals(0, amp.stepsTaken() + amp.stepsSkipped());
        }
    }

    private interface Comparison {
        void compare(String what, ComputationGraph stock, ComputationGraph network, INDArray[] inputs);
    }

    private static INDArray[] copy(INDArray[] arrays) {
        return Arrays.stream(arrays).map(INDArray::dup).toArray(INDArray[]::new);
    }

    private static INDArray labels(ComputationGraph stock, INDArray[] inputs) {
        INDArray labels = Nd4j.zeros(DataType.FLOAT, stock.output(copy(inputs))[0].shape());
        labels.get(NDArrayIndex.all(), NDArrayIndex.point(1)).assign(1);
        return labels;
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.NonFiniteFeaturesTest#cases")
    void giveTheOutputsOfDl4j(NetworkOfKind kind, Precision precision) {
        forEach(
                kind,
                precision,
                (what, stock, network, inputs) -> assertAsStock(
                        what, stock.output(true, copy(inputs))[0], network.output(true, copy(inputs))[0], precision));
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.NonFiniteFeaturesTest#cases")
    void giveTheScoreOfDl4j(NetworkOfKind kind, Precision precision) {
        forEach(kind, precision, (what, stock, network, inputs) -> {
            INDArray[] labels = {labels(stock, inputs)};
            double expected = stock.score(new MultiDataSet(copy(inputs), labels), true);
            assertScore(what, expected, network.score(new MultiDataSet(copy(inputs), labels), true), precision);
        });
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.NonFiniteFeaturesTest#cases")
    void giveTheScoreAndGradientsOfDl4jWhereAProgramAsksForThem(NetworkOfKind kind, Precision precision) {
        forEach(kind, precision, (what, stock, network, inputs) -> {
            INDArray labels = labels(stock, inputs);
            Consumer<ComputationGraph> pass = each -> {
                each.setInputs(copy(inputs));
                each.setLabels(labels);
                each.computeGradientAndScore();
            };
            pass.accept(stock);
            pass.accept(network);
            assertScore(what, stock.score(), network.score(), precision);
            INDArray expected = stock.gradient().gradient();
            INDArray actual = network.gradient().gradient();
            if (expected.isNaN().any()) {
                assertTrue(actual.isNaN().any(), what);
            } else {
                assertAsStock(what, expected, actual, precision);
            }
        });
    }

    private static void assertScore(String what, double expected, double actual, Precision precision) {
        // What a maximum of windows makes of NaN depends on the order in memory in DL4J, too.
        boolean moreOfIt = precision != Precision.FLOAT && Double.isNaN(actual);
        assertEquals(moreOfIt ? Double.NaN : expected, actual, precision == Precision.FLOAT ? 1e-5 : 0.05, what);
    }
}
