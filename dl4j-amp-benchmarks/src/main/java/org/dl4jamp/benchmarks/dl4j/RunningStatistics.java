package org.dl4jamp.benchmarks.dl4j;

import java.util.Random;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.params.BatchNormalizationParamInitializer;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The means and variances by which batch normalization infers. A network that was never trained has zeros and ones,
 * where almost no work is needed.
 */
public final class RunningStatistics {
    private static final double MEAN_DEVIATION = 0.1;
    private static final double SMALLEST_VARIANCE = 0.5;

    private RunningStatistics() {}

    /**
     * Gives each batch normalization of a network others, the same each time: means around 0 and variances around 1.
     */
    public static void draw(NeuralNetwork network) {
        Random random = new Random(11);
        Node.of(network).stream()
                .flatMap(node -> node.layer().stream())
                .filter(layer -> layer.conf().getLayer() instanceof BatchNormalization)
                .forEach(layer -> {
                    INDArray means = layer.getParam(BatchNormalizationParamInitializer.GLOBAL_MEAN);
                    float[] mean = new float[(int) means.length()];
                    float[] logDeviation = new float[mean.length];
                    for (int channel = 0; channel < mean.length; channel++) {
                        mean[channel] = (float) (MEAN_DEVIATION * random.nextGaussian());
                        logDeviation[channel] = (float) Math.log10(Math.sqrt(SMALLEST_VARIANCE + random.nextDouble()));
                    }
                    means.assign(Nd4j.createFromArray(mean).reshape(means.shape()));
                    layer.getParam(BatchNormalizationParamInitializer.GLOBAL_LOG_STD)
                            .assign(Nd4j.createFromArray(logDeviation).reshape(means.shape()));
                });
    }

    /** Returns the variances of a layer, which DL4J keeps as decimal logarithms of deviations. */
    static float[] variances(INDArray logDeviations) {
        float[] variances = logDeviations.dup('c').data().asFloat();
        for (int channel = 0; channel < variances.length; channel++) {
            variances[channel] = (float) Math.pow(10, 2.0 * variances[channel]);
        }
        return variances;
    }
}
