package org.dl4jamp.engine.nd4j;

import static org.dl4jamp.engine.nd4j.TestArrays.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.deeplearning4j.exception.DL4JInvalidInputException;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LearnedSelfAttentionLayer;
import org.deeplearning4j.nn.conf.layers.SelfAttentionLayer;
import org.deeplearning4j.nn.conf.layers.samediff.SameDiffLayer;
import org.dl4jamp.AttentionFormula;
import org.dl4jamp.Networks;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.SingleLayer.Result;
import org.dl4jamp.dl4j.ExternalErrors;
import org.dl4jamp.engine.nd4j.TwinHarness.Way;
import org.dl4jamp.layer.TwinLayer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

class AttentionTwinTest {
    private final Random random = new Random(11);

    /** Examples of different lengths; the last has one time step only. */
    private static INDArray mask(int minibatch, int time) {
        INDArray mask = Nd4j.ones(DataType.FLOAT, minibatch, time);
        for (int example = 0; example < minibatch; example++) {
            int length = example == minibatch - 1 ? 1 : Math.max(1, time - 2 * example);
            for (int step = length; step < time; step++) {
                mask.putScalar(example, step, 0);
            }
        }
        return mask;
    }

    private static void assertClose(String what, INDArray expected, INDArray actual) {
        INDArray own = actual.castTo(DataType.FLOAT);
        double norm = expected.norm2Number().doubleValue();
        double distance = expected.distance2(own);
        assertTrue(distance <= 3e-3 * norm + 1e-6, () -> what + " is off by " + distance + " of " + norm);
    }

    private static void assertAgrees(Layer conf, INDArray params, INDArray input, INDArray epsilon, INDArray mask) {
        org.deeplearning4j.nn.api.Layer dl4j = SingleLayer.dl4j(conf, params);
        TwinLayer twin = TwinHarness.twin(Way.HALF_PRODUCTS, conf, params);
        assertInstanceOf(AttentionTwin.class, twin.twin().compute());
        dl4j.setMaskArray(mask);
        twin.setMaskArray(mask);
        Result expected = SingleLayer.run(dl4j, input, epsilon);
        Result actual = TwinHarness.runHalf(twin, input, epsilon);
        assertEquals(DataType.HALF, actual.output().dataType());
        assertEquals(DataType.HALF, actual.inputGradient().dataType());
        assertClose("output", expected.output(), actual.output());
        assertClose("input", expected.inputGradient(), actual.inputGradient());
        assertEquals(
                expected.gradient().gradientForVariable().keySet(),
                actual.gradient().gradientForVariable().keySet());
        expected.gradient()
                .gradientForVariable()
                .forEach((name, gradient) -> assertClose(name, gradient, actual.gradient(name)));
        if (params != null) {
            assertClose("view", dl4j.getGradientsViewArray(), twin.getGradientsViewArray());
        }
    }

    @ParameterizedTest
    @CsvSource({
        "1, 4, 6, 2, 3, 1, false",
        "4, 1, 5, 1, 2, 3, false",
        "3, 6, 8, 2, 4, 7, false",
        "5, 7, 9, 3, 1, 6, true",
        "4, 16, 10, 4, 5, 12, true",
        "2, 64, 64, 8, 8, 33, true"
    })
    void agreesWithDl4jsLayer(int minibatch, int nIn, int nOut, int heads, int headSize, int time, boolean masked) {
        SelfAttentionLayer conf = Networks.selfAttention(nIn, nOut, heads, headSize);
        assertAgrees(
                conf,
                gaussian(random, 1 / Math.sqrt(nIn), TwinHarness.numberOfParams(conf)),
                gaussian(random, 1, minibatch, nIn, time),
                gaussian(random, 1, minibatch, nOut, time),
                masked ? mask(minibatch, time) : null);
    }

    @ParameterizedTest
    @CsvSource({"1, 1, 1, false", "1, 5, 1, false", "3, 2, 4, false", "4, 6, 9, false", "5, 8, 7, true"})
    void agreesWithDl4jsLayerWithoutProjection(int minibatch, int size, int time, boolean masked) {
        assertAgrees(
                Networks.plainSelfAttention(size),
                null,
                gaussian(random, 1, minibatch, size, time),
                gaussian(random, 1, minibatch, size, time),
                masked ? mask(minibatch, time) : null);
    }

    /** DL4J 1.0.0-M2.1 fails to run layers with learned queries, and backward for one unit of one example. */
    @ParameterizedTest
    @CsvSource({
        "3, 4, 6, 2, 5, 4, true, false",
        "4, 5, 5, 1, 3, 6, false, true",
        "2, 6, 4, 2, 1, 5, true, true",
        "1, 1, 1, 1, 1, 1, true, false"
    })
    void agreesWithTheFormulaForLearnedQueries(
            int minibatch, int nIn, int nOut, int heads, int queries, int time, boolean projected, boolean masked) {
        LearnedSelfAttentionLayer conf = Networks.learnedSelfAttention(nIn, nOut, heads, queries, projected);
        AttentionFormula formula = new AttentionFormula(conf, masked ? mask(minibatch, time) : null);
        assertAgrees(
                formula,
                conf,
                gaussian(random, 1 / Math.sqrt(nIn), TwinHarness.numberOfParams(conf)),
                gaussian(random, 1, minibatch, nIn, time),
                gaussian(random, 1, minibatch, nOut, queries));
    }

    @ParameterizedTest
    @CsvSource({"1, 1, 1, 1, 1, 1, false", "2, 3, 4, 2, 3, 5, true"})
    void agreesWithTheFormula(int minibatch, int nIn, int nOut, int heads, int headSize, int time, boolean masked) {
        SelfAttentionLayer conf = Networks.selfAttention(nIn, nOut, heads, headSize);
        assertAgrees(
                new AttentionFormula(conf, masked ? mask(minibatch, time) : null),
                conf,
                gaussian(random, 1 / Math.sqrt(nIn), TwinHarness.numberOfParams(conf)),
                gaussian(random, 1, minibatch, nIn, time),
                gaussian(random, 1, minibatch, nOut, time));
    }

    private static void assertAgrees(
            AttentionFormula formula, SameDiffLayer conf, INDArray params, INDArray input, INDArray epsilon) {
        TwinLayer twin = TwinHarness.twin(Way.HALF_PRODUCTS, conf, params);
        assertInstanceOf(AttentionTwin.class, twin.twin().compute());
        twin.setMaskArray(formula.mask());
        Result actual = TwinHarness.runHalf(twin, input, epsilon);
        assertClose("output", formula.output(params, input).castTo(DataType.FLOAT), actual.output());
        double factor = ExternalErrors.factor();
        assertClose(
                "input",
                AttentionFormula.differences(input, at -> formula.output(params, at), epsilon)
                        .muli(factor)
                        .castTo(DataType.FLOAT),
                actual.inputGradient());
        assertClose(
                "parameters",
                AttentionFormula.differences(params, at -> formula.output(at, input), epsilon)
                        .muli(factor)
                        .castTo(DataType.FLOAT),
                twin.getGradientsViewArray().reshape(params.shape()));
    }

    /** Scores of about 200,000, which FP16 doesn't have. */
    @Test
    void scoresBeyondTheRangeOfHalfStayRight() {
        SelfAttentionLayer conf = Networks.selfAttention(64, 16, 2, 32);
        INDArray params = gaussian(random, 2, TwinHarness.numberOfParams(conf));
        INDArray input = gaussian(random, 16, 3, 64, 5);
        INDArray projected = params.get(NDArrayIndex.interval(0, 64 * 64))
                .reshape('c', 64, 64)
                .mmul(input.slice(0));
        double score = projected.getColumn(0).norm2Number().doubleValue();
        assertTrue(score * score > 4 * 65504, () -> "score " + score * score);
        assertAgrees(conf, params, input, gaussian(random, 1, 3, 16, 5), null);
    }

    @Test
    void saysWhatIsWrongWithAnInputOfTheWrongShape() {
        TwinLayer twin = TwinHarness.twin(
                Way.HALF_PRODUCTS,
                Networks.selfAttention(4, 3, 1, 2),
                gaussian(random, 1, TwinHarness.numberOfParams(Networks.selfAttention(4, 3, 1, 2))));
        for (long[] shape : new long[][] {{2, 5, 3}, {2, 4}}) {
            INDArray input = TestArrays.half(gaussian(random, 1, shape));
            assertThrows(
                    DL4JInvalidInputException.class, () -> twin.activate(input, false, TwinHarness.noWorkspaces()));
        }
    }
}
