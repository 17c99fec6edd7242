package org.dl4jamp.onednn.normalization;

import java.lang.ref.Reference;
import org.bytedeco.javacpp.FloatPointer;
import org.dl4jamp.onednn.memory.Handle;
import org.dl4jamp.onednn.memory.Workspaces;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * DL4J's running mean and variance of batch normalization. They are parameters, and the updates that are subtracted
 * from them travels as their gradient. The variance is kept as such or as the decimal logarithm of the deviation.
 */
final class RunningStatistics {
    private static final double LOG_OF_TEN = Math.log(10);

    private RunningStatistics() {}

    /**
     * Computes {@code mean[t] - mean[t+1]} with {@code mean[t+1] = decay * mean[t] + (1 - decay) * measured}, likewise
     * of the variance.
     */
    static void update(INDArray running, float[] measured, double decay, INDArray update) {
        float[] values = read(running);
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) ((1 - decay) * ((double) values[i] - measured[i]));
        }
        write(values, update);
    }

    /**
     * Computes {@code log10(deviation[t]) - log10(deviation[t+1])}, where the variance changes as in {@link #update}.
     */
    static void updateOfLogarithm(INDArray logDeviation, float[] measured, double decay, INDArray update) {
        float[] values = read(logDeviation);
        for (int i = 0; i < values.length; i++) {
            double variance = variance(values[i]);
            double next = decay * variance + (1 - decay) * measured[i];
            values[i] = (float) (Math.log(variance / next) / (2 * LOG_OF_TEN));
        }
        write(values, update);
    }

    /** Returns the variances of which {@code logDeviation} holds the decimal logarithms of the deviations. */
    static float[] variances(INDArray logDeviation) {
        float[] values = read(logDeviation);
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) variance(values[i]);
        }
        return values;
    }

    /**
     * Returns the additional term of DL4J's gradient of a channel's numbers {@code x} if other statistics than the
     * minibatch's normalized it: {@code mean(x - mean) * gamma * mean(dL/dgamma) / (variance + epsilon)}.
     *
     * @param measured the means of the minibatch
     * @param running the statistics that normalized it
     * @param gammaGradient gamma's gradients
     * @param count how many numbers a channel has
     */
    static float[] shiftOfGradients(
            float[] measured, BatchNormKernels.Channels running, INDArray gammaGradient, double epsilon, long count) {
        int channels = measured.length;
        float[] mean = read(running.mean());
        float[] variance = read(running.variance());
        float[] gamma = read(running.gamma());
        float[] sums = read(gammaGradient);
        float[] shift = new float[channels];
        for (int i = 0; i < channels; i++) {
            shift[i] =
                    (float) (((double) measured[i] - mean[i]) * gamma[i] * sums[i] / count / (variance[i] + epsilon));
        }
        return shift;
    }

    /**
     * Returns a power of ten. The exponential function takes a third of the time of a general power, like the natural
     * logarithm of the decimal one.
     */
    private static double variance(double logDeviation) {
        return Math.exp(2 * LOG_OF_TEN * logDeviation);
    }

    /** Returns the numbers of an array without gaps, such as a slice of one of DL4J's flat vectors. */
    static float[] read(INDArray array) {
        try {
            float[] values = new float[(int) array.length()];
            view(array).get(values);
            return values;
        } finally {
            Reference.reachabilityFence(array);
        }
    }

    static void write(float[] values, INDArray array) {
        try {
            view(array).put(values);
        } finally {
            Reference.reachabilityFence(array);
        }
    }

    private static FloatPointer view(INDArray array) {
        return new FloatPointer(new Handle().at(Workspaces.address(array))).capacity(array.length());
    }
}
