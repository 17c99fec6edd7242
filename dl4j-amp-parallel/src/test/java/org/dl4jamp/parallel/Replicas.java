package org.dl4jamp.parallel;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.deeplearning4j.parallelism.ParallelWrapper.TrainingMode;
import org.dl4jamp.Configs;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.scale.DynamicLossScaler;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;

/** A task that a few hundred steps solve, networks for it, and wrappers around them. */
final class Replicas {
    private static final int FEATURES = 16;
    private static final int CLASSES = 4;

    private Replicas() {}

    /** Dense layers with batch normalization between them. */
    static MultiLayerConfiguration layers() {
        return new NeuralNetConfiguration.Builder()
                .seed(1)
                .updater(new Adam(3e-3))
                .list()
                .layer(dense(64))
                .layer(new BatchNormalization())
                .layer(dense(32))
                .layer(output())
                .setInputType(InputType.feedForward(FEATURES))
                .build();
    }

    /** The same as a graph. */
    static ComputationGraphConfiguration graph() {
        return new NeuralNetConfiguration.Builder()
                .seed(1)
                .updater(new Adam(3e-3))
                .graphBuilder()
                .addInputs("in")
                .addLayer("dense_1", dense(64), "in")
                .addLayer("norm", new BatchNormalization(), "dense_1")
                .addLayer("dense_2", dense(32), "norm")
                .addLayer("out", output(), "dense_2")
                .setOutputs("out")
                .setInputTypes(InputType.feedForward(FEATURES))
                .build();
    }

    private static DenseLayer dense(int units) {
        return Networks.dense(units, Activation.RELU);
    }

    private static OutputLayer output() {
        return Networks.softmax(CLASSES);
    }

    static Model initialized(boolean asGraph) {
        Model model = asGraph ? new ComputationGraph(graph()) : new MultiLayerNetwork(layers());
        model.init();
        return model;
    }

    /** Points around a centre for each class. */
    static List<DataSet> batches(int count, int size, long seed) {
        double[][] centres = new double[CLASSES][FEATURES];
        Random random = new Random(7);
        for (double[] centre : centres) {
            for (int i = 0; i < FEATURES; i++) {
                centre[i] = random.nextGaussian() * 0.5;
            }
        }
        random = new Random(seed);
        List<DataSet> batches = new ArrayList<>();
        for (int batch = 0; batch < count; batch++) {
            float[][] features = new float[size][FEATURES];
            float[][] labels = new float[size][CLASSES];
            for (int example = 0; example < size; example++) {
                int label = random.nextInt(CLASSES);
                labels[example][label] = 1;
                for (int i = 0; i < FEATURES; i++) {
                    features[example][i] = (float) (centres[label][i] + random.nextGaussian());
                }
            }
            batches.add(new DataSet(Nd4j.createFromArray(features), Nd4j.createFromArray(labels)));
        }
        return batches;
    }

    static DataSetIterator iterator(List<DataSet> batches) {
        return new ExistingDataSetIterator(batches);
    }

    static ParallelWrapper wrapper(Model model, int workers, TrainingMode mode) {
        return new ParallelWrapper.Builder<>(model)
                .workers(workers)
                .averagingFrequency(1)
                .prefetchBuffer(2)
                .trainingMode(mode)
                .build();
    }

    /** HALF on ND4J's engine, with a loss scale so high that the first steps overflow. */
    static AmpConfig half() {
        return Configs.half(DynamicLossScaler.builder().initialScale(0x1p22).build());
    }

    /** Returns what oneDNN computes best on this CPU. */
    static AmpConfig oneDnn() {
        return AmpConfig.builder().engine("onednn").build();
    }

    static void fit(Model model, DataSet batch) {
        if (model instanceof ComputationGraph graph) {
            graph.fit(batch);
        } else {
            ((MultiLayerNetwork) model).fit(batch);
        }
    }

    static INDArray updaterState(Model model) {
        return model instanceof ComputationGraph graph
                ? graph.getUpdater().getStateViewArray()
                : ((MultiLayerNetwork) model).getUpdater().getStateViewArray();
    }
}
