package org.dl4jamp.onednn.recurrent;

import java.util.function.DoubleUnaryOperator;
import org.dl4jamp.onednn.Layers;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * An LSTM with sigmoid gates, with or without peepholes, or a simple RNN, in double precision, one number at a time. It
 * rounds to a type as the twins do: outputs, gradients that are factors of products, and the trace of the forward pass.
 * Of an LSTM that trace is the factors of gradients and the memory cells. Arrays are {@code [minibatch, size, time]}.
 */
final class RecurrentReference {
    /**
     * An activation function.
     *
     * @param value of an argument
     * @param derivative at an argument
     */
    record Function(DoubleUnaryOperator value, DoubleUnaryOperator derivative) {
        static final Function TANH = new Function(Math::tanh, x -> 1 - Math.pow(Math.tanh(x), 2));
        static final Function SOFTSIGN = new Function(x -> x / (1 + Math.abs(x)), x -> Math.pow(1 + Math.abs(x), -2));
        static final Function IDENTITY = new Function(x -> x, x -> 1);
        private static final Function SIGMOID =
                new Function(x -> 1 / (1 + Math.exp(-x)), x -> 1 / ((1 + Math.exp(-x)) * (1 + Math.exp(x))));
    }

    private final DataType type;
    private final Cell cell;
    private final Function activation;
    private final double[][] inputWeights;
    private final double[][] recurrentWeights;
    private final double[] bias;
    /** Those of forget gate, output gate and input gate. */
    private final double[][] peepholes;

    private final int nIn;
    private final int units;
    private final int columns;

    /** With tanh, and parameters in DL4J's order. */
    RecurrentReference(DataType type, Cell cell, INDArray params, int nIn, int units) {
        this(type, cell, Function.TANH, params, nIn, units);
    }

    /**
     * Parameters in DL4J's order.
     *
     * @param type BFLOAT16, or FLOAT, to which nothing is rounded here
     */
    RecurrentReference(DataType type, Cell cell, Function activation, INDArray params, int nIn, int units) {
        this.type = type;
        this.cell = cell;
        this.activation = activation;
        this.nIn = nIn;
        this.units = units;
        this.columns = cell.isLstm() ? 4 * units : units;
        this.inputWeights = new double[nIn][columns];
        this.recurrentWeights = new double[units][columns];
        this.bias = new double[columns];
        this.peepholes = new double[cell.hasPeepholes() ? 3 : 0][units];
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
        for (double[] ofGate : peepholes) {
            for (int u = 0; u < units; u++) {
                ofGate[u] = params.getDouble(at++);
            }
        }
        for (int c = 0; c < columns; c++) {
            bias[c] = params.getDouble(at++);
        }
    }

    /** The results of the two passes; the parameters' gradients are in DL4J's order. */
    record Result(INDArray output, INDArray inputGradient, INDArray gradient) {}

    /** From a state of zeros, without a mask. */
    Result run(INDArray input, INDArray epsilon) {
        return run(input, epsilon, null);
    }

    /**
     * From a state of zeros.
     *
     * @param mask {@code [minibatch, time]}; null for none
     */
    Result run(INDArray input, INDArray epsilon, INDArray mask) {
        int minibatch = (int) input.size(0);
        int steps = (int) input.size(2);
        INDArray output = Nd4j.create(DataType.DOUBLE, minibatch, units, steps);
        INDArray inputGradient = Nd4j.create(DataType.DOUBLE, minibatch, nIn, steps);
        double[] gradient = new double[(nIn + units + 1) * columns + peepholes.length * units];
        for (int n = 0; n < minibatch; n++) {
            sequence(n, steps, input, epsilon, mask, output, inputGradient, gradient);
        }
        return new Result(output, inputGradient, Nd4j.createFromArray(gradient));
    }

    private double round(double value) {
        return type == DataType.BFLOAT16 ? Layers.rounded((float) value) : value;
    }

    /** Applies a column's function: the activation for the first of an LSTM's gates, and for a simple RNN. */
    private Function function(int column) {
        return column < units ? activation : Function.SIGMOID;
    }

    private double slope(double[] sums, int column) {
        return function(column).derivative().applyAsDouble(sums[column]);
    }

    private double peephole(int which, int unit) {
        return cell.hasPeepholes() ? peepholes[which][unit] : 0;
    }

    private static double passes(INDArray mask, int n, int t) {
        return mask == null ? 1 : mask.getDouble(n, t);
    }

    private void sequence(
            int n,
            int steps,
            INDArray input,
            INDArray epsilon,
            INDArray mask,
            INDArray output,
            INDArray inputGradient,
            double[] gradient) {
        double[][] values = new double[steps][columns];
        double[][] allSums = new double[steps][columns];
        double[][] activated = new double[steps][units];
        double[][] memory = new double[steps + 1][units];
        double[][] h = new double[steps + 1][units];
        for (int t = 0; t < steps; t++) {
            double[] sums = new double[columns];
            for (int c = 0; c < columns; c++) {
                double sum = bias[c];
                for (int i = 0; i < nIn; i++) {
                    sum += input.getDouble(n, i, t) * inputWeights[i][c];
                }
                for (int u = 0; u < units; u++) {
                    sum += h[t][u] * recurrentWeights[u][c];
                }
                if (c >= units && c < 2 * units) {
                    sum += peephole(0, c - units) * memory[t][c - units];
                } else if (c >= 3 * units) {
                    sum += peephole(2, c - 3 * units) * memory[t][c - 3 * units];
                }
                sums[c] = sum;
                values[t][c] = function(c).value().applyAsDouble(sum);
            }
            for (int u = 0; u < units; u++) {
                if (cell.isLstm()) {
                    double c = values[t][units + u] * memory[t][u] + values[t][3 * units + u] * values[t][u];
                    sums[2 * units + u] += peephole(1, u) * c;
                    values[t][2 * units + u] = Function.SIGMOID.value().applyAsDouble(sums[2 * units + u]);
                    activated[t][u] = activation.value().applyAsDouble(c);
                    memory[t + 1][u] = passes(mask, n, t) * c;
                    h[t + 1][u] = round(passes(mask, n, t) * values[t][2 * units + u] * activated[t][u]);
                } else {
                    h[t + 1][u] = round(passes(mask, n, t) * values[t][u]);
                }
                output.putScalar(n, u, t, h[t + 1][u]);
            }
            allSums[t] = sums;
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
                if (cell.isLstm()) {
                    // DL4J masks the gradients of an LSTM with peepholes, but not those of one without.
                    double passes = cell.hasPeepholes() ? passes(mask, n, t) : 1;
                    double[] sums = allSums[t];
                    double f = values[t][units + u];
                    double o = values[t][2 * units + u];
                    double g = values[t][3 * units + u];
                    double ofOutputGate = activated[t][u] * slope(sums, 2 * units + u);
                    double ofForgetGate = passes * memory[t][u] * slope(sums, units + u);
                    double ofInputGate = passes * values[t][u] * slope(sums, 3 * units + u);
                    double ofMemory = activation.derivative().applyAsDouble(memory[t + 1][u]);
                    double memoryError = error * round(o * ofMemory + ofOutputGate * peephole(1, u)) + carried[u];
                    delta[u] = memoryError * round(passes * g * slope(sums, u));
                    delta[units + u] = memoryError * round(ofForgetGate);
                    delta[2 * units + u] = error * round(passes * ofOutputGate);
                    delta[3 * units + u] = memoryError * round(ofInputGate);
                    carried[u] = memoryError * (f + ofForgetGate * peephole(0, u) + ofInputGate * peephole(2, u));
                } else {
                    double slope = activation.derivative().applyAsDouble(round(allSums[t][u]));
                    delta[u] = passes(mask, n, t) * error * slope;
                }
            }
            for (int c = 0; c < columns; c++) {
                delta[c] = round(delta[c]);
            }
            for (int u = 0; u < units && cell.hasPeepholes(); u++) {
                int at = columns * (nIn + units) + u;
                gradient[at] += delta[units + u] * round(memory[t][u]);
                gradient[at + units] += delta[2 * units + u] * round(memory[t + 1][u]);
                gradient[at + 2 * units] += delta[3 * units + u] * round(memory[t][u]);
            }
            for (int c = 0; c < columns; c++) {
                for (int i = 0; i < nIn; i++) {
                    gradient[c * nIn + i] += input.getDouble(n, i, t) * delta[c];
                    inputGradient.putScalar(n, i, t, inputGradient.getDouble(n, i, t) + delta[c] * inputWeights[i][c]);
                }
                for (int u = 0; u < units; u++) {
                    gradient[columns * nIn + c * units + u] += h[t][u] * delta[c];
                }
                gradient[columns * (nIn + units) + peepholes.length * units + c] += delta[c];
            }
            after = delta;
        }
    }
}
