package org.dl4jamp.onednn;

import java.util.Arrays;
import java.util.List;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.AmpConfig;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.Precision;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.engine.host.HostStepKernels;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;

/**
 * Prints what accumulation, clipping by norm and the finite check cost: the benchmark's mlp, with and without, one group after the other in one process. It's no test: nothing judges the times, and builds don't run it.
 *
 * <p>{@code mvn -B test -pl dl4j-amp-onednn -am -Dtest=AccumulationCost -Dsurefire.failIfNoSpecifiedTests=false}
 */
class AccumulationCost {
    private static final int MICRO_BATCHES = 4;
    private static final int GROUPS = 9;
    private static final int WARM_UP = 3;

    private static MultiLayerNetwork mlp() {
        return Networks.init(Networks.builder(new Adam(1e-3))
                .list()
                .layer(Networks.dense(4096, Activation.RELU))
                .layer(Networks.dense(4096, Activation.RELU))
                .layer(Networks.softmax(1000))
                .setInputType(InputType.feedForward(1024))
                .build());
    }

    private static AmpConfig.Builder config() {
        return AmpConfig.builder()
                .precision(Precision.valueOf(System.getProperty("amp.precision", "FLOAT")))
                .engine("onednn");
    }

    /** Milliseconds for each call of {@code fit} in a group, in their order. */
    private static double[] group(MultiLayerNetwork network, DataSet data) {
        double[] milliseconds = new double[MICRO_BATCHES];
        for (int i = 0; i < MICRO_BATCHES; i++) {
            long start = System.nanoTime();
            network.fit(data);
            milliseconds[i] = (System.nanoTime() - start) / 1e6;
        }
        return milliseconds;
    }

    private static double median(double[] numbers) {
        double[] sorted = numbers.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    private static void print(String what, double milliseconds) {
        System.out.printf("%-70s %8.2f ms%n", what, milliseconds);
    }

    @Test
    void printsFitsWithAndWithout() {
        DataSet data = Networks.vectors(256, 1024, 1000);
        MultiLayerNetwork plain = mlp();
        MultiLayerNetwork collecting = mlp();
        MixedPrecision.enable(plain, config().build());
        MixedPrecision.enable(
                collecting,
                config().accumulate(MICRO_BATCHES).clipGradientNorm(0.1).build());
        double[] without = new double[GROUPS];
        double[] with = new double[GROUPS];
        for (int i = -WARM_UP; i < GROUPS; i++) {
            double first = Arrays.stream(group(plain, data)).sum();
            double second = Arrays.stream(group(collecting, data)).sum();
            if (i >= 0) {
                without[i] = first;
                with[i] = second;
            }
        }
        print("four fits, a step each", median(without));
        print("four fits, one step, clipped", median(with));
        printPasses();
    }

    /** The passes alone, over as many numbers. */
    private static void printPasses() {
        StepKernels kernels = new HostStepKernels(StepKernels.nd4j());
        INDArray gradients = Nd4j.rand(DataType.FLOAT, 25_078_760L);
        INDArray sums = Nd4j.rand(DataType.FLOAT, 25_078_760L);
        print("finite check alone", pass(() -> kernels.allFinite(gradients)));
        print("finite check and norm", pass(() -> kernels.norm2(List.of(gradients))));
        print("first micro-batch", pass(() -> kernels.move(List.of(gradients), List.of(sums), true)));
        print("later micro-batch", pass(() -> kernels.move(List.of(gradients), List.of(sums), false)));
        print("last micro-batch, and norm", pass(() -> kernels.add(List.of(sums), List.of(gradients))));
    }

    private static double pass(Runnable pass) {
        double[] milliseconds = new double[30];
        for (int i = 0; i < milliseconds.length; i++) {
            long start = System.nanoTime();
            pass.run();
            milliseconds[i] = (System.nanoTime() - start) / 1e6;
        }
        return median(milliseconds);
    }
}
