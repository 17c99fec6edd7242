package org.dl4jamp.onednn.capsule;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Random;
import org.deeplearning4j.nn.conf.layers.CapsuleStrengthLayer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.dl4j.ExternalErrors;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Layers;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.TwinCheck;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Lengths of capsules. */
class CapsuleStrengthTwinTest {
    private static final double STEP = 1e-6;

    private static CapsuleStrengthLayer layer() {
        return new CapsuleStrengthLayer.Builder().build();
    }

    private static TwinLayer twin(EngineSession session) {
        return Layers.twin(session, layer(), null, DataType.FLOAT);
    }

    @ParameterizedTest
    @CsvSource({"3, 5, 4", "2, 7, 1", "1, 1, 1", "4, 1, 16", "2, 40, 8"})
    void itAgreesWithDl4js(int examples, int capsules, int dimensions) {
        Random random = new Random(5);
        TwinCheck.of(layer(), CapsuleStrengthTwin.class, random)
                .agrees(gaussian(random, 1, examples, capsules, dimensions));
    }

    @Test
    void outputsAndGradientsAreThoseOfTheFormula() {
        Random random = new Random(2);
        INDArray input = gaussian(random, 1, 2, 3, 4);
        INDArray epsilon = gaussian(random, 1, 2, 3);
        INDArray output = Nd4j.create(DataType.DOUBLE, 2, 3);
        INDArray gradient = Nd4j.create(DataType.DOUBLE, 2, 3, 4);
        for (int example = 0; example < 2; example++) {
            for (int capsule = 0; capsule < 3; capsule++) {
                output.putScalar(example, capsule, length(input, example, capsule, -1, 0));
                for (int i = 0; i < 4; i++) {
                    double slope =
                            (length(input, example, capsule, i, STEP) - length(input, example, capsule, i, -STEP))
                                    / (2 * STEP);
                    gradient.putScalar(
                            new int[] {example, capsule, i},
                            ExternalErrors.factor() * slope * epsilon.getDouble(example, capsule));
                }
            }
        }
        try (EngineSession session = new OneDnnEngine().session(0, true)) {
            SingleLayer.Result actual = SingleLayer.run(twin(session), input, epsilon);
            Agreement.assertWithin("output", output, actual.output(), 1e-6);
            Agreement.assertWithin("gradient", gradient, actual.inputGradient(), 1e-6);
        }
    }

    private static double length(INDArray input, int example, int capsule, int moved, double by) {
        double sum = 0;
        for (int i = 0; i < input.size(2); i++) {
            double number = input.getDouble(example, capsule, i) + (i == moved ? by : 0);
            sum += number * number;
        }
        return Math.sqrt(sum);
    }

    /** DL4J's gradient is NaN there, of that capsule alone. */
    @Test
    void theGradientOfACapsuleOfZerosIsZero() {
        INDArray input = Nd4j.ones(DataType.FLOAT, 1, 2, 3);
        input.slice(0).slice(1).assign(0);
        INDArray epsilon = Nd4j.ones(DataType.FLOAT, 1, 2);
        INDArray stock = SingleLayer.run(SingleLayer.dl4j(layer(), null), input.dup(), epsilon)
                .inputGradient();
        try (EngineSession session = new OneDnnEngine().session(0, true)) {
            INDArray gradient = SingleLayer.run(twin(session), input, epsilon).inputGradient();
            for (int i = 0; i < 3; i++) {
                assertEquals(stock.getDouble(0, 0, i), gradient.getDouble(0, 0, i), 1e-6);
                assertEquals(Double.NaN, stock.getDouble(0, 1, i));
                assertEquals(0, gradient.getDouble(0, 1, i));
            }
        }
    }

    /** Sums of squares aren't infinite where lengths are within FP32's range. */
    @Test
    void largeAndSmallCapsulesHaveTheirLengths() {
        INDArray input = Nd4j.createFromArray(3e30f, 4e30f, 3e-30f, 4e-30f).reshape(1, 2, 2);
        try (EngineSession session = new OneDnnEngine().session(0, true)) {
            INDArray output = SingleLayer.run(twin(session), input, Nd4j.ones(DataType.FLOAT, 1, 2))
                    .output();
            assertEquals(5e30, output.getDouble(0, 0), 1e24);
            assertEquals(5e-30, output.getDouble(0, 1), 1e-36);
        }
    }

    @Test
    void inputOfAnotherRankIsRejected() {
        INDArray input = Nd4j.ones(DataType.FLOAT, 2, 3);
        assertThrows(RuntimeException.class, () -> SingleLayer.dl4j(layer(), null)
                .activate(input, false, LayerWorkspaceMgr.noWorkspaces()));
        try (EngineSession session = new OneDnnEngine().session(0, true)) {
            assertThrows(RuntimeException.class, () -> twin(session)
                    .activate(input, false, LayerWorkspaceMgr.noWorkspaces()));
        }
    }
}
