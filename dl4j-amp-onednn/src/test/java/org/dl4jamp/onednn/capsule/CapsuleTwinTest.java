package org.dl4jamp.onednn.capsule;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import java.util.Random;
import java.util.function.ToDoubleFunction;
import org.deeplearning4j.nn.conf.layers.CapsuleLayer;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.dl4j.ExternalErrors;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Layers;
import org.dl4jamp.onednn.OneDnnEngine;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

/** Capsules against their formula in double, and gradients against its differences. */
class CapsuleTwinTest {
    private static final double STEP = 1e-5;

    /**
     * The formula of one layer, {@code [inputs][capsules][dimensions]}, with arguments in the order of the layer's
     * arrays.
     */
    private record Formula(int inputs, int inputSize, int capsules, int size, int routings) {
        double[] output(double[] x, double[] weights, double[] bias) {
            double[][][] predictions = new double[inputs][capsules][size];
            double[][] logits = new double[inputs][capsules];
            for (int i = 0; i < inputs; i++) {
                for (int c = 0; c < capsules; c++) {
                    for (int k = 0; k < size; k++) {
                        for (int d = 0; d < inputSize; d++) {
                            predictions[i][c][k] +=
                                    weights[((i * capsules + c) * size + k) * inputSize + d] * x[i * inputSize + d];
                        }
                    }
                }
            }
            double[] output = new double[capsules * size];
            for (int routing = 0; routing < routings; routing++) {
                for (int c = 0; c < capsules; c++) {
                    double square = 0;
                    double[] sums = new double[size];
                    for (int k = 0; k < size; k++) {
                        sums[k] = bias[c * size + k];
                        for (int i = 0; i < inputs; i++) {
                            double all = 0;
                            for (int other = 0; other < capsules; other++) {
                                all += Math.exp(logits[i][other]);
                            }
                            sums[k] += Math.exp(logits[i][c]) / all * predictions[i][c][k];
                        }
                        square += sums[k] * sums[k];
                    }
                    for (int k = 0; k < size; k++) {
                        output[c * size + k] = sums[k] * square / ((1 + square) * Math.sqrt(square + 1e-5));
                    }
                }
                for (int i = 0; i < inputs; i++) {
                    for (int c = 0; c < capsules; c++) {
                        for (int k = 0; k < size; k++) {
                            logits[i][c] += predictions[i][c][k] * output[c * size + k];
                        }
                    }
                }
            }
            return output;
        }
    }

    @ParameterizedTest
    @CsvSource({"5, 3, 4, 2, 1, false", "5, 3, 4, 2, 2, true", "6, 4, 3, 5, 3, true", "1, 1, 1, 1, 3, false"})
    void outputsAndGradientsAreThoseOfTheFormula(
            int inputs, int inputSize, int capsules, int size, int routings, boolean hasBias) {
        Formula formula = new Formula(inputs, inputSize, capsules, size, routings);
        CapsuleLayer conf = new CapsuleLayer.Builder(capsules, size, routings)
                .hasBias(hasBias)
                .inputCapsules(inputs)
                .inputCapsuleDimensions(inputSize)
                .build();
        Random random = new Random(routings);
        int results = capsules * size;
        int examples = 3;
        int weights = inputs * results * inputSize;
        INDArray params = gaussian(random, 0.7, weights + (hasBias ? results : 0));
        INDArray input = gaussian(random, 1, examples, inputs, inputSize);
        INDArray epsilon = gaussian(random, 1, examples, capsules, size);
        double[] x = doubles(input);
        double[] all = new double[weights + results];
        System.arraycopy(doubles(params), 0, all, 0, (int) params.length());
        ToDoubleFunction<double[][]> loss = arguments -> {
            double sum = 0;
            for (int example = 0; example < examples; example++) {
                double[] output = output(formula, arguments[0], arguments[1], example);
                for (int i = 0; i < results; i++) {
                    sum += epsilon.getDouble(example, i / size, i % size) * output[i];
                }
            }
            return sum * ExternalErrors.factor();
        };
        try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
            TwinLayer twin = Layers.twin(session, conf, params, DataType.FLOAT);
            assertInstanceOf(CapsuleTwin.class, twin.twin().compute());
            SingleLayer.Result actual = SingleLayer.run(twin, input, epsilon);
            double[] outputs = new double[examples * results];
            for (int example = 0; example < examples; example++) {
                System.arraycopy(output(formula, x, all, example), 0, outputs, example * results, results);
            }
            Agreement.assertWithin("output", array(outputs, actual.output()), actual.output(), 1e-5);
            INDArray ofInput = array(differences(loss, 0, x, all), input);
            Agreement.assertWithin("input gradient", ofInput, actual.inputGradient(), 1e-5);
            INDArray ofParameters = array(differences(loss, 1, x, all), Nd4j.create(weights + results));
            INDArray gradients = twin.getGradientsViewArray();
            Agreement.assertWithin(
                    "gradients",
                    ofParameters.get(NDArrayIndex.interval(0, params.length())),
                    gradients.reshape(params.length()),
                    1e-5);
        }
    }

    private static double[] output(Formula formula, double[] x, double[] parameters, int example) {
        int each = formula.inputs() * formula.inputSize();
        double[] own = new double[each];
        System.arraycopy(x, example * each, own, 0, each);
        int results = formula.capsules() * formula.size();
        double[] bias = new double[results];
        System.arraycopy(parameters, each * results, bias, 0, results);
        return formula.output(own, parameters, bias);
    }

    private static double[] differences(ToDoubleFunction<double[][]> loss, int which, double[]... arguments) {
        double[] gradient = new double[arguments[which].length];
        for (int i = 0; i < gradient.length; i++) {
            double value = arguments[which][i];
            arguments[which][i] = value + STEP;
            double above = loss.applyAsDouble(arguments);
            arguments[which][i] = value - STEP;
            gradient[i] = (above - loss.applyAsDouble(arguments)) / (2 * STEP);
            arguments[which][i] = value;
        }
        return gradient;
    }

    private static double[] doubles(INDArray array) {
        return array.castTo(DataType.DOUBLE).dup('c').data().asDouble();
    }

    private static INDArray array(double[] numbers, INDArray like) {
        return Nd4j.createFromArray(numbers).reshape('c', like.shape());
    }
}
