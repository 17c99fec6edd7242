package org.dl4jamp.engine.nd4j;

import static org.dl4jamp.engine.nd4j.TestArrays.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.deeplearning4j.exception.DL4JInvalidInputException;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.layers.RecurrentAttentionLayer;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.SingleLayer.Result;
import org.dl4jamp.engine.nd4j.TwinHarness.Way;
import org.dl4jamp.layer.TwinLayer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Recurrent attention over HALF weights against DL4J's own in FP32. */
class RecurrentAttentionTwinTest {
    private final Random random = new Random(5);

    private static RecurrentAttentionLayer layer(
            int nIn, int nOut, int heads, boolean projects, boolean bias, Activation function) {
        return new RecurrentAttentionLayer.Builder()
                .nIn(nIn)
                .nOut(nOut)
                .nHeads(heads)
                .projectInput(projects)
                .hasBias(bias)
                .activation(function)
                .build();
    }

    private static void assertClose(String what, INDArray expected, INDArray actual) {
        double norm = expected.norm2Number().doubleValue();
        double distance = expected.distance2(actual.castTo(DataType.FLOAT));
        assertTrue(distance <= 4e-3 * norm + 1e-6, () -> what + " is off by " + distance + " of " + norm);
    }

    private void assertAgrees(RecurrentAttentionLayer conf, int minibatch, int time, boolean masked) {
        INDArray params = gaussian(random, 0.4, TwinHarness.numberOfParams(conf));
        INDArray input = gaussian(random, 1, minibatch, conf.getNIn(), time);
        INDArray epsilon = gaussian(random, 1, minibatch, conf.getNOut(), time);
        INDArray mask = Nd4j.ones(DataType.FLOAT, minibatch, time);
        mask.putScalar(0, time - 1, 0);
        Layer dl4j = SingleLayer.dl4j(conf, params);
        TwinLayer twin = TwinHarness.twin(Way.HALF_PRODUCTS, conf, params);
        assertInstanceOf(RecurrentAttentionTwin.class, twin.twin().compute());
        if (masked) {
            dl4j.setMaskArray(mask);
            twin.setMaskArray(mask);
        }
        Result expected = SingleLayer.run(dl4j, input, epsilon);
        for (int repetition = 0; repetition < 2; repetition++) {
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
        }
    }

    @ParameterizedTest
    @CsvSource({
        "1, 4, 6, 2, 3, true, true, false",
        "3, 6, 8, 2, 5, true, false, true",
        "4, 5, 4, 1, 6, true, true, true",
        "2, 3, 3, 1, 4, false, true, false",
        "4, 6, 6, 1, 5, false, false, true"
    })
    void agreesWithDl4jsLayer(
            int minibatch, int nIn, int nOut, int heads, int time, boolean projects, boolean bias, boolean masked) {
        assertAgrees(layer(nIn, nOut, heads, projects, bias, Activation.TANH), minibatch, time, masked);
    }

    @ParameterizedTest
    @EnumSource(
            value = Activation.class,
            names = {
                "CUBE",
                "ELU",
                "GELU",
                "HARDTANH",
                "IDENTITY",
                "LEAKYRELU",
                "RELU",
                "SIGMOID",
                "SOFTMAX",
                "SOFTPLUS",
                "SOFTSIGN"
            })
    void agreesForEachFunctionThatSameDiffHas(Activation function) {
        assertAgrees(layer(4, 4, 2, true, true, function), 3, 3, false);
    }

    @Test
    void leavesFunctionsToDl4jThatItHasNot() {
        assertFalse(Nd4jSession.hasHalfTwin(layer(4, 4, 2, true, true, Activation.SWISH)));
    }

    @Test
    void refusesOtherShapes() {
        RecurrentAttentionLayer conf = layer(4, 4, 2, true, true, Activation.TANH);
        INDArray params = gaussian(random, 0.4, TwinHarness.numberOfParams(conf));
        TwinLayer twin = TwinHarness.twin(Way.HALF_PRODUCTS, conf, params);
        INDArray half = Nd4j.ones(DataType.HALF, 2, 4, 3);
        twin.activate(half, false, TwinHarness.noWorkspaces());
        String steps = assertThrows(
                        IllegalArgumentException.class,
                        () -> twin.activate(Nd4j.ones(DataType.HALF, 2, 4, 5), false, TwinHarness.noWorkspaces()))
                .getMessage();
        assertTrue(steps.contains("Expected 3 time steps but got 5"), steps);
        assertThrows(
                DL4JInvalidInputException.class,
                () -> twin.activate(Nd4j.ones(DataType.HALF, 2, 3, 3), false, TwinHarness.noWorkspaces()));
    }
}
