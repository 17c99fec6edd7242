package org.dl4jamp.spark;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.DynamicLossScaler;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** A small task: which of four random centres a point of 16 dimensions belongs to. */
final class Blobs {
    static final int BATCH = 32;
    private static final int IN = 16;
    private static final int OUT = 4;

    private Blobs() {}

    static AmpConfig half(DynamicLossScaler.Builder scaler) {
        return AmpConfig.builder()
                .precision(Precision.HALF)
                .engine("nd4j")
                .lossScaler(scaler.build())
                .scaleSearch(0)
                .build();
    }

    static AmpConfig half() {
        return AmpConfig.builder().precision(Precision.HALF).engine("nd4j").build();
    }

    static MultiLayerConfiguration network() {
        return base().list()
                .layer(dense(IN, 64))
                .layer(norm())
                .layer(dense(64, 32))
                .layer(output())
                .build();
    }

    static ComputationGraphConfiguration graph() {
        return base().graphBuilder()
                .addInputs("in")
                .addLayer("dense_1", dense(IN, 64), "in")
                .addLayer("norm", norm(), "dense_1")
                .addLayer("dense_2", dense(64, 32), "norm")
                .addLayer("out", output(), "dense_2")
                .setOutputs("out")
                .build();
    }

    private static NeuralNetConfiguration.Builder base() {
        return new NeuralNetConfiguration.Builder()
                .seed(1)
                .updater(new Adam(3e-3))
                .activation(Activation.RELU);
    }

    private static DenseLayer dense(int in, int out) {
        return new DenseLayer.Builder().nIn(in).nOut(out).build();
    }

    private static BatchNormalization norm() {
        return new BatchNormalization.Builder().nIn(64).nOut(64).build();
    }

    private static OutputLayer output() {
        return new OutputLayer.Builder(LossFunction.MCXENT)
                .activation(Activation.SOFTMAX)
                .nIn(32)
                .nOut(OUT)
                .build();
    }

    static List<DataSet> batches(int count, long seed) {
        float[][] centres = new float[OUT][IN];
        Random ofCentres = new Random(7);
        for (float[] centre : centres) {
            for (int i = 0; i < IN; i++) {
                centre[i] = (float) ofCentres.nextGaussian() * 0.5f;
            }
        }
        Random random = new Random(seed);
        List<DataSet> batches = new ArrayList<>();
        for (int batch = 0; batch < count; batch++) {
            float[][] points = new float[BATCH][IN];
            float[][] labels = new float[BATCH][OUT];
            for (int point = 0; point < BATCH; point++) {
                int label = random.nextInt(OUT);
                labels[point][label] = 1;
                for (int i = 0; i < IN; i++) {
                    points[point][i] = centres[label][i] + (float) random.nextGaussian();
                }
            }
            batches.add(new DataSet(Nd4j.createFromArray(points), Nd4j.createFromArray(labels)));
        }
        return batches;
    }

    /** The same batch again and again, so that it doesn't matter in which order Spark deals them out. */
    static List<DataSet> copies(int count) {
        return Collections.nCopies(count, batches(1, 3).get(0));
    }
}
