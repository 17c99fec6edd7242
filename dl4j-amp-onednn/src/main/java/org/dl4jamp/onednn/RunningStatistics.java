package org.dl4jamp.onednn;

import org.bytedeco.javacpp.FloatPointer;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * DL4J's running mean and variance of batch normalization. They are parameters, and what is to be subtracted from them travels as their
 * gradient. The variance is kept as such or as the decimal logarithm of the deviation.
 */
final class RunningStatistics {
    private RunningStatistics() {}

    /** {@code mean[t] - mean[t+1]} with {@code mean[t+1] = decay * mean[t] + (1 - decay) * measured}, likewise of the variance. */
    static void update(INDArray running, float[] measured, double decay, INDArray update) {
        float[] values = read(running);
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) ((1 - decay) * ((double) values[i] - measured[i]));
        }
        write(values, update);
    }

    /** {@code log10(deviation[t]) - log10(deviation[t+1])}, where the variance moves as in {@link #update}. */
    static void updateOfLogarithm(INDArray logDeviation, float[] measured, double decay, INDArray update) {
        float[] values = read(logDeviation);
        for (int i = 0; i < values.length; i++) {
            double variance = variance(values[i]);
            double next = decay * variance + (1 - decay) * measured[i];
            values[i] = (float) (Math.log10(variance / next) / 2);
        }
        write(values, update);
    }

    /** The variances of which {@code logDeviation} holds the decimal logarithms of the deviations. */
    static float[] variances(INDArray logDeviation) {
        float[] values = read(logDeviation);
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) variance(values[i]);
        }
        return values;
    }

    private static double variance(double logDeviation) {
        return Math.pow(10, 2 * logDeviation);
    }

    static float[] read(INDArray array) {
        float[] values = new float[(int) array.length()];
        view(array).get(values);
        return values;
    }

    static void write(float[] values, INDArray array) {
        view(array).put(values);
    }

    /** A view's parameters are contiguous: slices of DL4J's flat vectors. */
    private static FloatPointer view(INDArray array) {
        return new FloatPointer(new Handle().at(Workspaces.address(array))).capacity(array.length());
    }
}
