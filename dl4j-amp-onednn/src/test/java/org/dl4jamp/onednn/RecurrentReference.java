package org.dl4jamp.onednn;

import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * An LSTM (sigmoid, tanh) or a simple RNN (tanh) in double precision, one number at a time, that rounds to BFLOAT16 what the twins round:
 * outputs, gradients before they enter a product, and what the backward pass takes from the forward pass. Arrays are {@code [minibatch, size, time]}.
 */
final class RecurrentReference {
    private final boolean lstm;
    private final double[][] inputWeights;
    private final double[][] recurrentWeights;
    private final double[] bias;
    private final int nIn;
    private final int units;
    private final int columns;

    /** Parameters in DL4J's order. */
    RecurrentReference(boolean lstm, INDArray params, int nIn, int units) {
        this.lstm = lstm;
        this.nIn = nIn;
        this.units = units;
        this.columns = lstm ? 4 * units : units;
        this.inputWeights = new double[nIn][columns];
        this.recurrentWeights = new double[units][columns];
        this.bias = new double[columns];
        long at = 0;
        for (int c = 0; c < columns; c++) {
            for (int i = 0; i < nIn; i++) {
                inputWeights[i][c] = params.getDouble(at++);
            }
        }
        for (int c = 0; c < columns; c++) {
            for (int u = 0; u < units; u++) {
                recurrentWeights[u][c] = params.getDouble(at++);
            }
        }
        for (int c = 0; c < columns; c++) {
            bias[c] = params.getDouble(at++);
        }
    }

    /** What the two passes give; the parameters' gradients are in DL4J's order. */
    record Result(INDArray output, INDArray inputGradient, INDArray gradient) {}

    /** From a state of zeros. */
    Result run(INDArray input, INDArray epsilon) {
        int minibatch = (int) input.size(0);
        int steps = (int) input.size(2);
        INDArray output = Nd4j.create(DataType.DOUBLE, minibatch, units, steps);
        INDArray inputGradient = Nd4j.create(DataType.DOUBLE, minibatch, nIn, steps);
        double[] gradient = new double[(nIn + units + 1) * columns];
        for (int n = 0; n < minibatch; n++) {
            sequence(n, steps, input, epsilon, output, inputGradient, gradient);
        }
        return new Result(output, inputGradient, Nd4j.createFromArray(gradient));
    }

    private static double round(double value) {
        return Layers.rounded((float) value);
    }

    /** Of a column: tanh for the first of an LSTM's gates, and for a simple RNN. */
    private double function(int column, double x) {
        return column < units ? Math.tanh(x) : 1 / (1 + Math.exp(-x));
    }

    private void sequence(
            int n,
            int steps,
            INDArray input,
            INDArray epsilon,
            INDArray output,
            INDArray inputGradient,
            double[] gradient) {
        double[][] values = new double[steps][columns];
        double[][] keptValues = new double[steps][columns];
        double[][] memory = new double[steps + 1][units];
        double[][] h = new double[steps + 1][units];
        for (int t = 0; t < steps; t++) {
            for (int c = 0; c < columns; c++) {
                double sum = bias[c];
                for (int i = 0; i < nIn; i++) {
                    sum += input.getDouble(n, i, t) * inputWeights[i][c];
                }
                for (int u = 0; u < units; u++) {
                    sum += h[t][u] * recurrentWeights[u][c];
                }
                values[t][c] = function(c, sum);
                keptValues[t][c] = function(c, round(sum));
            }
            for (int u = 0; u < units; u++) {
                if (lstm) {
                    memory[t + 1][u] = values[t][units + u] * memory[t][u] + values[t][3 * units + u] * values[t][u];
                    h[t + 1][u] = round(values[t][2 * units + u] * Math.tanh(memory[t + 1][u]));
                } else {
                    h[t + 1][u] = round(values[t][u]);
                }
                output.putScalar(n, u, t, h[t + 1][u]);
            }
        }
        double[] carried = new double[units];
        double[] after = new double[columns];
        for (int t = steps - 1; t >= 0; t--) {
            double[] delta = new double[columns];
            for (int u = 0; u < units; u++) {
                double error = epsilon.getDouble(n, u, t);
                for (int c = 0; c < columns; c++) {
                    error += after[c] * recurrentWeights[u][c];
                }
                double a = keptValues[t][u];
                if (lstm) {
                    double f = keptValues[t][units + u];
                    double o = keptValues[t][2 * units + u];
                    double g = keptValues[t][3 * units + u];
                    double derivative = 1 - Math.pow(Math.tanh(round(memory[t + 1][u])), 2);
                    double memoryError = error * o * derivative + carried[u];
                    delta[u] = memoryError * g * (1 - a * a);
                    delta[units + u] = memoryError * round(memory[t][u]) * f * (1 - f);
                    delta[2 * units + u] = error * round(Math.tanh(memory[t + 1][u])) * o * (1 - o);
                    delta[3 * units + u] = memoryError * a * g * (1 - g);
                    carried[u] = memoryError * f;
                } else {
                    delta[u] = error * (1 - a * a);
                }
            }
            for (int c = 0; c < columns; c++) {
                delta[c] = round(delta[c]);
                for (int i = 0; i < nIn; i++) {
                    gradient[c * nIn + i] += input.getDouble(n, i, t) * delta[c];
                    inputGradient.putScalar(n, i, t, inputGradient.getDouble(n, i, t) + delta[c] * inputWeights[i][c]);
                }
                for (int u = 0; u < units; u++) {
                    gradient[columns * nIn + c * units + u] += h[t][u] * delta[c];
                }
                gradient[columns * (nIn + units) + c] += delta[c];
            }
            after = delta;
        }
    }
}
