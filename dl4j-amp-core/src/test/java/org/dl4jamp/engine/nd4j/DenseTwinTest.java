package org.dl4jamp.engine.nd4j;

import static org.dl4jamp.engine.nd4j.TestArrays.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.deeplearning4j.exception.DL4JInvalidInputException;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.weightnoise.DropConnect;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.SingleLayer.Result;
import org.dl4jamp.engine.nd4j.TwinHarness.Way;
import org.dl4jamp.layer.TwinLayer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

class DenseTwinTest {
    private static final Random RANDOM = new Random(7);

    @ParameterizedTest
    @CsvSource({
        "1, 1, 1, TANH, true, false",
        "1, 7, 5, TANH, true, false",
        "3, 1, 4, SIGMOID, true, false",
        "5, 33, 1, TANH, true, false",
        "8, 16, 32, IDENTITY, true, false",
        "7, 19, 13, IDENTITY, false, false",
        "7, 19, 13, TANH, false, true",
        "6, 5, 9, SIGMOID, true, true",
        "6, 5, 9, IDENTITY, true, true"
    })
    void agreesWithDl4jsLayerWithinTheRoundingOfFactorsAndResults(
            int minibatch, int nIn, int nOut, Activation activation, boolean bias, boolean masked) {
        DenseLayer conf = new DenseLayer.Builder()
                .nIn(nIn)
                .nOut(nOut)
                .activation(activation)
                .hasBias(bias)
                .build();
        INDArray params = gaussian(RANDOM, 0.5, TwinHarness.numberOfParams(conf));
        INDArray input = gaussian(RANDOM, 1, minibatch, nIn);
        INDArray epsilon = gaussian(RANDOM, 1, minibatch, nOut);
        org.deeplearning4j.nn.api.Layer dl4j = SingleLayer.dl4j(conf, params);
        TwinLayer twin = TwinHarness.twin(Way.HALF_PRODUCTS, conf, params);
        assertInstanceOf(DenseTwin.class, twin.twin().compute());
        INDArray mask = masked ? Nd4j.create(DataType.FLOAT, minibatch, 1) : null;
        if (masked) {
            for (int example = 0; example < minibatch; example++) {
                mask.putScalar(example, 0, example % 3 == 1 ? 0 : 1);
            }
            dl4j.setMaskArray(mask);
            twin.setMaskArray(mask);
        }
        Result expected = SingleLayer.run(dl4j, input, epsilon);
        Result actual = TwinHarness.runHalf(twin, input, epsilon);
        assertEquals(DataType.HALF, actual.output().dataType());
        assertEquals(DataType.HALF, actual.inputGradient().dataType());

        DenseReference half = new DenseReference(dl4j, input, epsilon, mask, true);
        DenseReference full = new DenseReference(dl4j, input, epsilon, mask, false);
        Comparison.check(
                "output",
                expected.output(),
                actual.output(),
                at -> full.output(at[0], at[1]),
                at -> half.output(at[0], at[1]));
        Comparison.check(
                "W",
                expected.gradient("W"),
                actual.gradient("W"),
                at -> full.weightGradient(at[0], at[1]),
                at -> half.weightGradient(at[0], at[1]));
        if (bias) {
            Comparison.check(
                    "b",
                    expected.gradient("b").reshape(nOut),
                    actual.gradient("b").reshape(nOut),
                    at -> full.biasGradient(at[0]),
                    at -> half.biasGradient(at[0]));
        }
        Comparison.check(
                "input",
                expected.inputGradient(),
                actual.inputGradient(),
                at -> full.inputGradient(at[0], at[1]),
                at -> half.inputGradient(at[0], at[1]));
    }

    /** The formulas, term by term. */
    private static final class DenseReference {
        private final INDArray weights;
        private final INDArray input;
        private final Bounded[][] output;
        private final Bounded[][] delta;
        private final Bounded[][] factor;
        private final boolean half;

        DenseReference(
                org.deeplearning4j.nn.api.Layer layer, INDArray input, INDArray epsilon, INDArray mask, boolean half) {
            this.weights = layer.getParam("W");
            this.input = input;
            this.half = half;
            int minibatch = (int) input.size(0);
            int nOut = (int) weights.size(1);
            Curve activation = Curve.of(((DenseLayer) layer.conf().getLayer()).getActivationFn());
            output = new Bounded[minibatch][nOut];
            delta = new Bounded[minibatch][nOut];
            factor = new Bounded[minibatch][nOut];
            for (int example = 0; example < minibatch; example++) {
                Bounded visible = Bounded.exact(mask == null ? 1 : mask.getDouble(example, 0));
                for (int unit = 0; unit < nOut; unit++) {
                    Bounded z = Bounded.dot(row(input, example), column(weights, unit));
                    if (layer.getParam("b") != null) {
                        z = z.plus(Bounded.exact(layer.getParam("b").getDouble(unit)));
                    }
                    z = z.times(visible);
                    output[example][unit] = rounded(activation.at(z).times(visible));
                    delta[example][unit] = activation
                            .slopeAt(z)
                            .times(Bounded.exact(epsilon.getDouble(example, unit)))
                            .times(visible);
                    factor[example][unit] = rounded(delta[example][unit]);
                }
            }
        }

        private Bounded rounded(Bounded number) {
            return half ? number.toHalf() : number;
        }

        Bounded output(int example, int unit) {
            return output[example][unit];
        }

        Bounded weightGradient(int from, int to) {
            return Bounded.dot(
                    column(input, from),
                    IntStream.range(0, factor.length)
                            .mapToObj(example -> factor[example][to])
                            .toList());
        }

        Bounded biasGradient(int unit) {
            return Bounded.sum(IntStream.range(0, delta.length)
                    .mapToObj(example -> delta[example][unit])
                    .toList());
        }

        Bounded inputGradient(int example, int from) {
            return rounded(Bounded.dot(List.of(factor[example]), row(weights, from)));
        }

        private static List<Bounded> row(INDArray matrix, int row) {
            return IntStream.range(0, (int) matrix.size(1))
                    .mapToObj(column -> Bounded.exact(matrix.getDouble(row, column)))
                    .toList();
        }

        private static List<Bounded> column(INDArray matrix, int column) {
            return IntStream.range(0, (int) matrix.size(0))
                    .mapToObj(row -> Bounded.exact(matrix.getDouble(row, column)))
                    .toList();
        }
    }

    @Test
    void saysWhatIsWrongWithAnInputOfTheWrongShape() {
        DenseLayer conf = new DenseLayer.Builder()
                .nIn(4)
                .nOut(3)
                .activation(Activation.TANH)
                .name("hidden")
                .build();
        TwinLayer twin = TwinHarness.twin(Way.HALF_PRODUCTS, conf, gaussian(RANDOM, 1, 15));
        INDArray input = TestArrays.half(gaussian(RANDOM, 1, 2, 5));
        DL4JInvalidInputException refused = assertThrows(
                DL4JInvalidInputException.class, () -> twin.activate(input, false, TwinHarness.noWorkspaces()));
        assertTrue(
                refused.getMessage().contains("[2, 5]") && refused.getMessage().contains("hidden"),
                refused.getMessage());
    }

    @Test
    void leavesLayerNormalizationAndWeightNoiseToDl4jsLayer() {
        DenseLayer normalized = new DenseLayer.Builder()
                .nIn(4)
                .nOut(3)
                .activation(Activation.TANH)
                .hasLayerNorm(true)
                .build();
        DenseLayer noisy = new DenseLayer.Builder()
                .nIn(4)
                .nOut(3)
                .activation(Activation.TANH)
                .weightNoise(new DropConnect(0.5))
                .build();
        for (DenseLayer conf : List.of(normalized, noisy)) {
            TwinLayer twin =
                    TwinHarness.twin(Way.HALF_PRODUCTS, conf, gaussian(RANDOM, 1, TwinHarness.numberOfParams(conf)));
            assertEquals(DataType.FLOAT, twin.twin().dataType());
        }
    }
}
