package org.dl4jamp.onednn;

import java.util.Arrays;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.layers.EmbeddingLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;

/**
 * Prints the time of a step in which all but a few rows of an embedding table are idle. It does so for three values of
 * Adam's first moments of the idle rows: zeros as of unused rows, numbers as of rows just used, and the denormal
 * numbers of some hundred steps later. Stock DL4J and this engine run in turn, in one process. It isn't a test: nothing
 * checks the times, and builds don't run it.
 *
 * <p>{@code mvn -B test -pl dl4j-amp-onednn -am -Dtest=IdleTableCost -Dsurefire.failIfNoSpecifiedTests=false}
 */
class IdleTableCost {
    private static final int ROWS = 200_000;
    private static final int COLUMNS = 64;
    private static final int BATCH = 128;
    private static final int CLASSES = 10;
    private static final int STEPS = 15;

    /** The possible moments of an idle row. */
    private enum Moments {
        ZERO(0),
        NORMAL(1e-3f),
        /** Nine tenths of it is rounded back to it: it stays. */
        DENORMAL(4 * Float.MIN_VALUE);

        private final float first;

        Moments(float first) {
            this.first = first;
        }

        /** Writes them as the first moments of the whole table; second moments are those of gradients of 0.001. */
        void write(MultiLayerNetwork network) {
            INDArray state = network.getUpdater().getStateViewArray();
            float[] numbers = new float[Math.toIntExact(state.length())];
            Arrays.fill(numbers, 0, numbers.length / 2, first);
            Arrays.fill(numbers, numbers.length / 2, numbers.length, 1e-6f);
            state.assign(Nd4j.createFromArray(numbers).reshape(state.shape()));
        }
    }

    private static MultiLayerNetwork table() {
        MultiLayerConfiguration configuration = Networks.builder(new Adam(1e-3))
                .list()
                .layer(new EmbeddingLayer.Builder()
                        .nIn(ROWS)
                        .nOut(COLUMNS)
                        .activation(Activation.IDENTITY)
                        .build())
                .layer(Networks.softmax(CLASSES))
                .build();
        return Networks.init(configuration);
    }

    private static DataSet fewRows() {
        INDArray rows = Nd4j.create(DataType.FLOAT, BATCH, 1);
        INDArray labels = Nd4j.create(DataType.FLOAT, BATCH, CLASSES);
        for (int i = 0; i < BATCH; i++) {
            rows.putScalar(i, 0, i);
            labels.putScalar(i, i % CLASSES, 1);
        }
        return new DataSet(rows, labels);
    }

    private static double fit(MultiLayerNetwork network, DataSet data) {
        long start = System.nanoTime();
        network.fit(data);
        return (System.nanoTime() - start) / 1e6;
    }

    private static double median(double[] numbers) {
        Arrays.sort(numbers);
        return numbers[numbers.length / 2];
    }

    @Test
    void printsStepsByTheMomentsOfRowsAtRest() {
        DataSet data = fewRows();
        MultiLayerNetwork stock = table();
        MultiLayerNetwork amp = table();
        MixedPrecision.enable(
                amp,
                AmpConfig.builder().engine("onednn").precision(Precision.FLOAT).build());
        for (int i = 0; i < STEPS; i++) {
            stock.fit(data);
            amp.fit(data);
        }
        for (Moments moments : Moments.values()) {
            double[] ofStock = new double[STEPS];
            double[] ofAmp = new double[STEPS];
            moments.write(stock);
            moments.write(amp);
            for (int i = 0; i < STEPS; i++) {
                ofStock[i] = fit(stock, data);
                ofAmp[i] = fit(amp, data);
            }
            System.out.printf(
                    "first moments %-9s %8.2f ms stock DL4J %8.2f ms engine onednn%n",
                    moments, median(ofStock), median(ofAmp));
        }
    }
}
