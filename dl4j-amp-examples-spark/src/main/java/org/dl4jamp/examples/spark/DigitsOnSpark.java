package org.dl4jamp.examples.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.function.IntConsumer;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.spark.api.RDDTrainingApproach;
import org.deeplearning4j.spark.api.TrainingHook;
import org.deeplearning4j.spark.impl.graph.SparkComputationGraph;
import org.deeplearning4j.spark.impl.paramavg.ParameterAveragingTrainingMaster;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.examples.digits.Digits;
import org.dl4jamp.examples.digits.DigitsNetworks;
import org.dl4jamp.spark.SparkAmp;
import org.nd4j.evaluation.classification.Evaluation;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.adapter.SingletonDataSetIterator;

/** Trains the residual graph on the digits with parameter averaging: the same batches in the same order each time. */
final class DigitsOnSpark {
    static final int BATCH = 32;
    private static final int TEST_IMAGES = 450;
    private static final long SPLIT_SEED = 1;

    private final JavaSparkContext context;
    private final int workers;
    private final int frequency;
    private final Digits train;
    private final DataSet test;

    /**
     * The results of a training.
     *
     * @param accuracy part of the test images that were recognized, from 0 to 1
     * @param loss of the test images
     * @param seconds time of all epochs
     * @param bytes counted by {@link SentBytes}
     * @param splits number of averagings
     * @param steps planned steps of all workers
     */
    record Figures(double accuracy, double loss, double seconds, long bytes, int splits, long steps) {}

    DigitsOnSpark(JavaSparkContext context, int workers, int frequency) {
        this.context = context;
        this.workers = workers;
        this.frequency = frequency;
        Digits shuffled = Digits.load().shuffled(SPLIT_SEED);
        int trainImages = shuffled.size() - TEST_IMAGES;
        this.train = shuffled.range(0, trainImages);
        this.test = shuffled.range(trainImages, shuffled.size()).toDataSet();
    }

    /** Returns how many workers times steps between averagings an epoch has batches for. */
    static int batchesOfAnEpoch() {
        return (Digits.load().size() - TEST_IMAGES) / BATCH;
    }

    /** Splits in an epoch; what is over is left out, as DL4J would do by itself. */
    int splitsOfAnEpoch() {
        return train.size() / BATCH / (workers * frequency);
    }

    /**
     * Trains in FP32, as DL4J does.
     *
     * @param epochDone called after each epoch, from 0 on
     */
    Figures inFp32(int epochs, IntConsumer epochDone) {
        return train(DigitsNetworks.residual(), master().build(), epochs, epochDone);
    }

    /**
     * Trains in mixed precision.
     *
     * @param more hooks beside that of {@code amp}
     */
    Figures inMixedPrecision(SparkAmp amp, AmpConfig config, int epochs, IntConsumer epochDone, TrainingHook... more) {
        List<TrainingHook> hooks = new ArrayList<>(List.of(amp.hook()));
        hooks.addAll(List.of(more));
        return train(
                MixedPrecision.configure(DigitsNetworks.residual(), config),
                master().trainingHooks(hooks).build(),
                epochs,
                epochDone);
    }

    private ParameterAveragingTrainingMaster.Builder master() {
        return new ParameterAveragingTrainingMaster.Builder(workers, BATCH)
                .batchSizePerWorker(BATCH)
                .averagingFrequency(frequency)
                .saveUpdater(true)
                .rngSeed(SPLIT_SEED)
                .rddTrainingApproach(RDDTrainingApproach.Direct);
    }

    private Figures train(
            ComputationGraphConfiguration configuration,
            ParameterAveragingTrainingMaster master,
            int epochs,
            IntConsumer epochDone) {
        SentBytes sent = new SentBytes();
        context.sc().addSparkListener(sent);
        SparkComputationGraph spark = new SparkComputationGraph(context, configuration, master);
        double seconds = 0;
        try {
            for (int epoch = 0; epoch < epochs; epoch++) {
                JavaRDD<DataSet> data = context.parallelize(batches(epoch), workers);
                long start = System.nanoTime();
                spark.fit(data);
                seconds += (System.nanoTime() - start) / 1e9;
                epochDone.accept(epoch);
            }
        } finally {
            context.sc().removeSparkListener(sent);
        }
        ComputationGraph graph = spark.getNetwork();
        double accuracy =
                graph.doEvaluation(new SingletonDataSetIterator(test), new Evaluation(Digits.CLASSES))[0].accuracy();
        int splits = epochs * splitsOfAnEpoch();
        Figures figures = new Figures(
                accuracy, graph.score(test), seconds, sent.bytes(), splits, (long) splits * workers * frequency);
        graph.close();
        return figures;
    }

    private List<DataSet> batches(int epoch) {
        return train.shuffled(epoch).batches(BATCH).subList(0, splitsOfAnEpoch() * workers * frequency);
    }

    /** Bytes of parameters and of Adam's two values for each of them. */
    static long stateBytes() {
        ComputationGraph graph = new ComputationGraph(DigitsNetworks.residual());
        graph.init();
        long bytes = Float.BYTES
                * (graph.numParams() + graph.getUpdater().getStateViewArray().length());
        graph.close();
        return bytes;
    }
}
