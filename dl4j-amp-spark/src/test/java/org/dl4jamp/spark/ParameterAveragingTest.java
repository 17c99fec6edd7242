package org.dl4jamp.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkException;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.spark.impl.graph.SparkComputationGraph;
import org.deeplearning4j.spark.impl.multilayer.SparkDl4jMultiLayer;
import org.deeplearning4j.spark.impl.paramavg.ParameterAveragingTrainingMaster;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.checkpoint.AmpState;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.DynamicLossScaler;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.nd4j.linalg.dataset.DataSet;

/** Mixed precision in tasks of a {@link ParameterAveragingTrainingMaster}, which run on threads of this JVM. */
@EnabledForJreRange(maxVersion = 22, disabledReason = "Spark 3.5 needs Subject.getSubject, which newer JDKs lack")
@Timeout(value = 10, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ParameterAveragingTest {
    private static final int FREQUENCY = Averaging.FREQUENCY;

    /** Ends training in the second split of which every step is skipped. */
    private static final AmpConfig ENDING_EARLY = AmpConfig.builder()
            .precision(Precision.HALF)
            .engine("nd4j")
            .maxConsecutiveSkips(2 * FREQUENCY - 1)
            .build();

    private static JavaSparkContext context;

    @BeforeAll
    static void start() {
        context = Cluster.start();
    }

    @AfterAll
    static void stop() {
        context.close();
    }

    @Test
    void everyStepOfANetworkIsInMixedPrecisionAndLearnsAsFp32Does() {
        DataSet test = DataSet.merge(Blobs.batches(8, 2));
        SparkDl4jMultiLayer full = new SparkDl4jMultiLayer(
                context, Blobs.network(), Averaging.master(Cluster.CORES).build());
        SparkAmp amp = SparkAmp.on(context);
        SparkDl4jMultiLayer mixed = network(amp, Blobs.half(), Cluster.CORES);
        for (int fit = 0; fit < 3; fit++) {
            full.fit(rdd(Blobs.batches(40, 1)));
            mixed.fit(rdd(Blobs.batches(40, 1)));
        }
        SparkReport report = amp.report();
        assertEquals(3 * 40, report.stepsTaken(), report::toString);
        assertEquals(0, report.stepsSkipped(), report::toString);
        assertEquals(Precision.HALF, report.executors().get(0).precision());
        double fp32 = full.getNetwork().score(test);
        assertEquals(fp32, mixed.getNetwork().score(test), 0.05 * fp32);
        assertEquals("DenseLayer", mixed.getNetwork().getLayer(0).getClass().getSimpleName());
    }

    @Test
    void everyStepOfAGraphIsInMixedPrecision() {
        SparkAmp amp = SparkAmp.on(context);
        Witness witness = new Witness(context);
        SparkComputationGraph spark = new SparkComputationGraph(
                context,
                MixedPrecision.configure(Blobs.graph(), Averaging.UNUSUAL),
                Averaging.master(Cluster.CORES)
                        .trainingHooks(amp.hook(), witness)
                        .build());
        DataSet test = DataSet.merge(Blobs.batches(8, 2));
        double before = spark.getNetwork().score(test);
        spark.fit(rdd(Blobs.batches(40, 1)));
        SparkReport report = amp.report();
        witness.requireEveryStep(40, Averaging.describeGraph(Averaging.UNUSUAL));
        assertEquals(40, report.stepsTaken() + report.stepsSkipped(), report::toString);
        assertTrue(report.stepsSkipped() > 0, report::toString);
        assertEquals(Precision.HALF, report.executors().get(0).precision());
        assertTrue(spark.getNetwork().score(test) < 0.9 * before);
    }

    @Test
    void lossScaleGoesOnFromSplitToSplitAndFromFitToFit() {
        double first = Math.pow(2, 24);
        SparkAmp amp = SparkAmp.on(context);
        SparkDl4jMultiLayer spark = network(amp, Blobs.half(scaler(first)), 1);
        spark.fit(rdd(Blobs.batches(20, 1), 1));
        spark.fit(rdd(Blobs.batches(20, 2), 1));
        SparkReport report = amp.report();
        double scale = report.executors().get(0).lossScale();
        assertTrue(scale < first / FREQUENCY, () -> "no split had to skip: " + report);
        // Each overflow halves the scale: had a split begun at the first scale again there would be more skips than
        // halvings.
        assertEquals(Math.log(first / scale) / Math.log(2), (double) report.stepsSkipped());
        assertEquals(40, report.stepsTaken() + report.stepsSkipped());
    }

    @Test
    void adamCountsTheStepsThatWereTaken() {
        AmpConfig config = Blobs.half(scaler(Math.pow(2, 24)));
        SparkAmp amp = SparkAmp.on(context);
        SparkDl4jMultiLayer spark = network(amp, config, 1);
        List<DataSet> data = Blobs.copies(30);
        spark.fit(rdd(data, 1));

        MultiLayerNetwork alone = new MultiLayerNetwork(Blobs.network());
        alone.init();
        try (MixedPrecision single = MixedPrecision.enable(alone, config)) {
            data.forEach(alone::fit);
            assertTrue(single.stepsSkipped() > 0);
            Averaging.assertClose(alone.params(), spark.getNetwork().params());

            AmpState state = amp.state().orElseThrow();
            assertEquals(single.stepsTaken(), state.stepsTaken());
            assertEquals(single.stepsSkipped(), state.stepsSkipped());
            assertEquals(single.lossScale(), state.scaler().scale());
            try (MixedPrecision goesOn = MixedPrecision.enable(spark.getNetwork(), state)) {
                spark.getNetwork().fit(data.get(0));
                alone.fit(data.get(0));
                assertEquals(single.stepsTaken(), goesOn.stepsTaken());
                Averaging.assertClose(alone.params(), spark.getNetwork().params());
            }
        }
    }

    /** The configuration of the network that goes on carries no settings: the state does. */
    @Test
    void stateGoesOnOnAnotherSparkAmp() {
        AmpConfig config = Averaging.UNUSUAL;
        List<DataSet> data = Blobs.copies(20);
        SparkAmp whole = SparkAmp.on(context);
        SparkDl4jMultiLayer once = network(whole, config, 1);
        once.fit(rdd(data, 1));
        once.fit(rdd(data, 1));

        SparkAmp before = SparkAmp.on(context);
        SparkDl4jMultiLayer spark = network(before, config, 1);
        spark.fit(rdd(data, 1));
        SparkAmp after = SparkAmp.on(context, before.state().orElseThrow());
        MultiLayerNetwork trained = spark.getNetwork();
        MultiLayerNetwork moved = new MultiLayerNetwork(Blobs.network());
        moved.init(trained.params().dup(), false);
        moved.getUpdater()
                .setStateViewArray(
                        moved, trained.getUpdater().getStateViewArray().dup(), false);
        moved.setIterationCount(trained.getIterationCount());
        Witness witness = new Witness(context);
        SparkDl4jMultiLayer again = new SparkDl4jMultiLayer(
                context,
                moved,
                Averaging.master(1).trainingHooks(after.hook(), witness).build());
        again.fit(rdd(data, 1));
        witness.requireEveryStep(20, Averaging.describe(config));
        assertEquals(
                whole.state().orElseThrow().toString(),
                after.state().orElseThrow().toString());
        Averaging.assertClose(once.getNetwork().params(), again.getNetwork().params());
    }

    @Test
    void taskThatFailsAndIsRunAgainIsCountedOnce() {
        SparkAmp amp = SparkAmp.on(context);
        SparkDl4jMultiLayer spark = new SparkDl4jMultiLayer(
                context,
                configured(Blobs.half()),
                Averaging.master(Cluster.CORES)
                        .trainingHooks(amp.hook(), new FailingOnce(FREQUENCY))
                        .build());
        spark.fit(rdd(Blobs.batches(40, 1)));
        assertEquals(40, amp.report().stepsTaken(), () -> amp.report().toString());
        assertEquals(8, amp.report().executors().get(0).tasks());
        assertEquals(20, spark.getNetwork().getIterationCount());
    }

    @Test
    void trainingThatSkipsEverythingEndsWithTheReason() {
        SparkAmp amp = SparkAmp.on(context);
        SparkDl4jMultiLayer spark = network(amp, ENDING_EARLY, Cluster.CORES);
        List<DataSet> broken = Blobs.batches(40, 1);
        broken.forEach(batch -> batch.getFeatures().assign(Float.NaN));
        Exception error = assertThrows(Exception.class, () -> spark.fit(rdd(broken)));
        assertEquals(SparkException.class, error.getClass());
        assertTrue(error.getMessage().contains(AmpException.class.getName()), error.getMessage());
        // The first split is too short to give up in: it is by the count that goes on that the second does.
        assertEquals(Cluster.CORES * FREQUENCY, amp.report().stepsSkipped());
    }

    @Test
    void aWorkerThatSkipsEveryStepEndsTrainingThoughTheOthersTrain() {
        SparkAmp amp = SparkAmp.on(context);
        SparkDl4jMultiLayer spark = network(amp, ENDING_EARLY, Cluster.CORES);
        List<DataSet> batches = Blobs.batches(40, 1);
        // The first part of the data.
        batches.subList(0, 40 / Cluster.CORES)
                .forEach(batch -> batch.getFeatures().assign(Float.NaN));
        Exception error = assertThrows(Exception.class, () -> spark.fit(rdd(batches)));
        assertTrue(error.getMessage().contains((2 * FREQUENCY - 1) + " steps in a row"), error.getMessage());
    }

    @Test
    void severalNetworksDoNotKnowOfEachOther() {
        SparkAmp one = SparkAmp.on(context);
        SparkAmp other = SparkAmp.on(context);
        network(one, Blobs.half(scaler(1024)), 1).fit(rdd(Blobs.batches(10, 1), 1));
        network(other, Blobs.half(scaler(64)), 1).fit(rdd(Blobs.batches(20, 1), 1));
        assertEquals(1024, one.report().executors().get(0).lossScale());
        assertEquals(64, other.report().executors().get(0).lossScale());
        assertEquals(10, one.report().stepsTaken());
        assertEquals(20, other.report().stepsTaken());
    }

    @Test
    void automaticChoiceIsReportedAsTheExecutorMadeIt() {
        SparkAmp amp = SparkAmp.on(context);
        SparkDl4jMultiLayer spark = new SparkDl4jMultiLayer(
                context,
                Blobs.network(),
                Averaging.master(1).trainingHooks(amp.hook()).build());
        spark.fit(rdd(Blobs.batches(10, 1), 1));
        MultiLayerNetwork here = new MultiLayerNetwork(Blobs.network());
        here.init();
        try (MixedPrecision single = MixedPrecision.enable(here)) {
            ExecutorReport executor = amp.report().executors().get(0);
            assertEquals(single.engine(), executor.engine());
            assertEquals(single.precision(), executor.precision());
        }
    }

    private static DynamicLossScaler.Builder scaler(double scale) {
        return DynamicLossScaler.builder().initialScale(scale).growthInterval(10_000);
    }

    private static MultiLayerConfiguration configured(AmpConfig config) {
        return MixedPrecision.configure(Blobs.network(), config);
    }

    private static SparkDl4jMultiLayer network(SparkAmp amp, AmpConfig config, int workers) {
        return new SparkDl4jMultiLayer(
                context,
                configured(config),
                Averaging.master(workers).trainingHooks(amp.hook()).build());
    }

    private static JavaRDD<DataSet> rdd(List<DataSet> batches) {
        return rdd(batches, Cluster.CORES);
    }

    /**
     * DL4J deals the batches of each partition out to splits: evenly if they are a multiple of the splits. What is over
     * a worker's share is dropped.
     */
    private static JavaRDD<DataSet> rdd(List<DataSet> batches, int partitions) {
        return context.parallelize(batches, partitions);
    }
}
