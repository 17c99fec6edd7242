package org.dl4jamp.engine.nd4j;

import static org.dl4jamp.engine.nd4j.TestArrays.dot;
import static org.dl4jamp.engine.nd4j.TestArrays.halfPrecisionDot;
import static org.dl4jamp.engine.nd4j.TestArrays.ulpOfHalf;
import static org.dl4jamp.engine.nd4j.TestArrays.uniform;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Random;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.dl4jamp.SingleLayer.Result;
import org.dl4jamp.engine.nd4j.TwinHarness.Way;
import org.dl4jamp.layer.TwinLayer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

/**
 * Sums of 4096 products, which accumulation in FP16 gets wrong by percents: once the sum is 512, half an ulp is a
 * quarter, the size of the terms. All numbers are HALF, so that the double-precision sum is exact, and the layers have
 * no more to lose than one rounding to HALF.
 */
class SumOf4096ProductsTest {
    private static final int TERMS = 4096;

    private final Random random = new Random(5);

    @Test
    void accumulationInHalfPrecisionIsOffByPercents() {
        double[] ones = new double[TERMS];
        Arrays.fill(ones, 1);
        assertEquals(2048, halfPrecisionDot(ones, ones), "2048 + 1 rounds to 2048");
        double[] left = uniform(random, TERMS).toDoubleVector();
        double[] right = uniform(random, TERMS).toDoubleVector();
        double exact = dot(left, right);
        assertTrue(Math.abs(halfPrecisionDot(left, right) / exact - 1) > 0.02, () -> "exact " + exact);
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void aDenseLayerForward(Way way) {
        INDArray weights = uniform(random, TERMS, 3);
        INDArray input = uniform(random, 2, TERMS);
        Result result = dense(way, weights, input, uniform(random, 2, 3));
        for (int example = 0; example < 2; example++) {
            for (int unit = 0; unit < 3; unit++) {
                double[] left = input.getRow(example).toDoubleVector();
                double[] right = weights.getColumn(unit).toDoubleVector();
                checkSum(left, right, result.output().getDouble(example, unit));
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void aDenseLayersWeightGradientOver4096Examples(Way way) {
        INDArray input = uniform(random, TERMS, 3);
        INDArray epsilon = uniform(random, TERMS, 2);
        Result result = dense(way, uniform(random, 3, 2), input, epsilon);
        for (int from = 0; from < 3; from++) {
            for (int to = 0; to < 2; to++) {
                double[] left = input.getColumn(from).toDoubleVector();
                double[] right = epsilon.getColumn(to).toDoubleVector();
                checkSum(left, right, result.gradient("W").getDouble(from, to));
            }
        }
        double sum = Arrays.stream(epsilon.getColumn(1).toDoubleVector()).sum();
        assertEquals(sum, result.gradient("b").getDouble(1), ulpOfHalf(sum) / 2);
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void aDenseLayersInputGradientOver4096Outputs(Way way) {
        INDArray weights = uniform(random, 3, TERMS);
        INDArray epsilon = uniform(random, 2, TERMS);
        Result result = dense(way, weights, uniform(random, 2, 3), epsilon);
        for (int example = 0; example < 2; example++) {
            for (int from = 0; from < 3; from++) {
                double[] left = epsilon.getRow(example).toDoubleVector();
                double[] right = weights.getRow(from).toDoubleVector();
                checkSum(left, right, result.inputGradient().getDouble(example, from));
            }
        }
    }

    private static Result dense(Way way, INDArray weights, INDArray input, INDArray epsilon) {
        DenseLayer conf = new DenseLayer.Builder()
                .nIn(weights.size(0))
                .nOut(weights.size(1))
                .hasBias(true)
                .activation(Activation.IDENTITY)
                .build();
        INDArray params = Nd4j.concat(0, columnByColumn(weights), Nd4j.zeros(weights.size(1)));
        return TwinHarness.runHalf(TwinHarness.twin(way, conf, params), input, epsilon);
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void aConvolutionForward(Way way) {
        INDArray weights = uniform(random, 2, TERMS / 16, 4, 4);
        INDArray input = uniform(random, 2, TERMS / 16, 4, 4);
        Result result = convolution(way, weights, input, uniform(random, 2, 2, 1, 1));
        for (int example = 0; example < 2; example++) {
            for (int unit = 0; unit < 2; unit++) {
                double[] left = input.slice(example).dup('c').reshape(TERMS).toDoubleVector();
                double[] right = weights.slice(unit).dup('c').reshape(TERMS).toDoubleVector();
                checkSum(left, right, result.output().getDouble(example, unit, 0, 0));
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void aConvolutionsWeightGradientOver4096Places(Way way) {
        INDArray input = uniform(random, TERMS / 64, 1, 9, 9);
        INDArray epsilon = uniform(random, TERMS / 64, 2, 8, 8);
        Result result = convolution(way, uniform(random, 2, 1, 2, 2), input, epsilon);
        double[] left = new double[TERMS];
        double[] right = new double[TERMS];
        for (int place = 0; place < TERMS; place++) {
            left[place] = input.getDouble(place / 64, 0, place / 8 % 8 + 1, place % 8);
            right[place] = epsilon.getDouble(place / 64, 1, place / 8 % 8, place % 8);
        }
        checkSum(left, right, result.gradient("W").getDouble(1, 0, 1, 0));
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void aConvolutionsInputGradientOver4096TermsInOverlappingPatches(Way way) {
        int nOut = TERMS / 4;
        INDArray weights = uniform(random, nOut, 1, 2, 2);
        INDArray epsilon = uniform(random, 1, nOut, 2, 2);
        Result result = convolution(way, weights, uniform(random, 1, 1, 3, 3), epsilon);
        double[] left = new double[TERMS];
        double[] right = new double[TERMS];
        for (int term = 0; term < TERMS; term++) {
            left[term] = epsilon.getDouble(0, term / 4, term / 2 % 2, term % 2);
            right[term] = weights.getDouble(term / 4, 0, 1 - term / 2 % 2, 1 - term % 2);
        }
        checkSum(left, right, result.inputGradient().getDouble(0, 0, 1, 1));
    }

    private static Result convolution(Way way, INDArray weights, INDArray input, INDArray epsilon) {
        ConvolutionLayer conf = new ConvolutionLayer.Builder((int) weights.size(2), (int) weights.size(3))
                .nIn(weights.size(1))
                .nOut(weights.size(0))
                .hasBias(false)
                .activation(Activation.IDENTITY)
                .build();
        INDArray params = weights.dup('c').reshape(weights.length());
        return TwinHarness.runHalf(TwinHarness.twin(way, conf, params), input, epsilon);
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void anLstmForward(Way way) {
        INDArray weights = uniform(random, TERMS, 2);
        INDArray input = uniform(random, 2, TERMS, 1);
        Result result = sums(way, weights, input, uniform(random, 2, 2, 1));
        for (int example = 0; example < 2; example++) {
            double[] left = input.slice(example).dup('c').reshape(TERMS).toDoubleVector();
            checkSum(
                    left, weights.getColumn(1).toDoubleVector(), result.output().getDouble(example, 1, 0));
        }
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void anLstmsWeightGradientOver4096TimeStepsAndExamples(Way way) {
        INDArray input = uniform(random, TERMS / 32, 3, 32);
        INDArray epsilon = uniform(random, TERMS / 32, 2, 32);
        Result result = sums(way, uniform(random, 3, 2), input, epsilon);
        double[] left = new double[TERMS];
        double[] right = new double[TERMS];
        for (int term = 0; term < TERMS; term++) {
            left[term] = input.getDouble(term / 32, 2, term % 32);
            right[term] = epsilon.getDouble(term / 32, 1, term % 32);
        }
        checkSum(left, right, result.gradient("W").getDouble(2, 1));
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void anLstmsInputGradientOver4096Columns(Way way) {
        int units = TERMS / 4;
        INDArray weights = uniform(random, 2, TERMS);
        INDArray epsilon = uniform(random, 1, units, 1);
        // All gates half open, the memory cell at 2: then the gradient reaches all four blocks of columns.
        LSTM conf = new LSTM.Builder()
                .nIn(2)
                .nOut(units)
                .activation(Activation.IDENTITY)
                .gateActivationFunction(Activation.HARDSIGMOID)
                .build();
        INDArray bias = Nd4j.zeros(TERMS);
        bias.get(NDArrayIndex.interval(0, units)).assign(4);
        TwinLayer layer = TwinHarness.twin(way, conf, params(weights, Nd4j.zeros(units, TERMS), bias));
        Result result = TwinHarness.runHalf(layer, Nd4j.zeros(1, 2, 1), epsilon);
        double[] left = new double[TERMS];
        double[] right = new double[TERMS];
        for (int column = 0; column < TERMS; column++) {
            int block = column / units;
            double error = epsilon.getDouble(0, column % units, 0);
            // c = 1/2 * 4; dh/di = 1/2 * 1/2, dh/df = 0, dh/do = 1/5 * c, dh/dg = 1/2 * 4 * 1/5
            double slope = block == 0 ? 0.25 : block == 1 ? 0 : 0.4;
            left[column] = way == Way.HALF_PRODUCTS ? TestArrays.roundToHalf(slope * error) : slope * error;
            right[column] = weights.getDouble(0, column);
        }
        double exact = dot(left, right);
        double rounding = ulpOfHalf(exact) / 2;
        // Slopes of 0.4 aren't exact in FP32, and so now and then a factor is rounded to HALF's other neighbour.
        double doubtful = 0x1p-20 * exact;
        assertEquals(exact, result.inputGradient().getDouble(0, 0, 0), rounding + doubtful);
    }

    /**
     * An LSTM whose output is its input times the weights: gates open but for the forget gate, which is shut, and no
     * recurrence.
     */
    private static Result sums(Way way, INDArray weights, INDArray input, INDArray epsilon) {
        int units = (int) weights.size(1);
        LSTM conf = new LSTM.Builder()
                .nIn(weights.size(0))
                .nOut(units)
                .activation(Activation.IDENTITY)
                .gateActivationFunction(Activation.HARDSIGMOID)
                .build();
        INDArray inputWeights = Nd4j.concat(1, weights, Nd4j.zeros(weights.size(0), 3L * units));
        INDArray bias = Nd4j.concat(
                0,
                Nd4j.zeros(units),
                Nd4j.zeros(units).subi(8),
                Nd4j.zeros(2L * units).addi(8));
        INDArray params = params(inputWeights, Nd4j.zeros(units, 4L * units), bias);
        return TwinHarness.runHalf(TwinHarness.twin(way, conf, params), input, epsilon);
    }

    private static INDArray params(INDArray inputWeights, INDArray recurrentWeights, INDArray bias) {
        return Nd4j.concat(
                0, columnByColumn(inputWeights), columnByColumn(recurrentWeights), bias.reshape(bias.length()));
    }

    private static INDArray columnByColumn(INDArray matrix) {
        return matrix.transpose().dup('c').reshape(matrix.length());
    }

    /** Within one rounding to HALF of the exact sum, where FP16 accumulation isn't by far. */
    private static void checkSum(double[] left, double[] right, double actual) {
        double exact = dot(left, right);
        double inFloat = 0x1p-24 * Math.sqrt(TERMS) * exact;
        assertEquals(exact, actual, ulpOfHalf(exact) / 2 + inFloat);
        assertTrue(Math.abs(halfPrecisionDot(left, right) - exact) > 0.01 * exact);
    }
}
