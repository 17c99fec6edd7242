package org.dl4jamp.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.Serializable;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.SparkException;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.util.TaskCompletionListener;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.deeplearning4j.spark.api.RDDTrainingApproach;
import org.deeplearning4j.spark.impl.graph.SparkComputationGraph;
import org.deeplearning4j.spark.impl.multilayer.SparkDl4jMultiLayer;
import org.deeplearning4j.spark.impl.paramavg.ParameterAveragingTrainingMaster;
import org.deeplearning4j.spark.parameterserver.training.SharedTrainingMaster;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.checkpoint.AmpState;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.DynamicLossScaler;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.io.TempDir;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;

/**
 * Mixed precision with a {@link SharedTrainingMaster} whose driver and one executor are this JVM, which DL4J has send
 * gradients to itself over loopback.
 */
@EnabledForJreRange(maxVersion = 22, disabledReason = "Spark 3.5 needs Subject.getSubject, which newer JDKs lack")
@Timeout(value = 10, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("long")
class SharedTrainingTest {
    private static final int BATCHES = 40;

    @TempDir
    private Path folder;

    private JavaSparkContext context = Cluster.start();

    @AfterEach
    void stop() {
        context.close();
        // A task that Spark has given up goes on for a while, and DL4J alone would have those of the next test wait for
        // it.
        Turn.await(() -> false).close();
    }

    @Test
    void everyStepIsInMixedPrecisionAndLearnsAsFp32Does() {
        DataSet test = DataSet.merge(Blobs.batches(8, 2));
        context.close();
        // DL4J alone may wait for ever where tasks run at the same time.
        context = Cluster.start(Map.of("spark.task.cpus", Integer.toString(Cluster.CORES)));
        SparkDl4jMultiLayer full = new SparkDl4jMultiLayer(context, Blobs.network(), SharedGradients.master(1));
        double before = full.getNetwork().score(test);
        for (int fit = 0; fit < 3; fit++) {
            full.fit(rdd(Blobs.batches(BATCHES, 1)));
        }
        context.close();
        context = Cluster.start();
        SparkAmp amp = SparkAmp.on(context);
        SparkDl4jMultiLayer mixed = network(amp, Blobs.half(), 1);
        for (int fit = 0; fit < 3; fit++) {
            mixed.fit(rdd(Blobs.batches(BATCHES, 1)));
        }
        SparkReport report = amp.report();
        assertEquals(3 * BATCHES, report.stepsTaken(), report::toString);
        assertEquals(0, report.stepsSkipped(), report::toString);
        assertEquals(Precision.HALF, report.executors().get(0).precision());
        double fp32 = full.getNetwork().score(test);
        assertTrue(fp32 < 0.5 * before, fp32 + " after " + before);
        // DL4J deals batches out to whichever task is first, so that its own FP32 comes out differently each time.
        assertEquals(fp32, mixed.getNetwork().score(test), 0.15 * fp32);
        assertEquals("DenseLayer", mixed.getNetwork().getLayer(0).getClass().getSimpleName());
    }

    @Test
    void tasksOfAnExecutorTakeTurns() {
        SparkAmp amp = SparkAmp.on(context);
        SparkDl4jMultiLayer spark = network(amp, Blobs.half(), 1);
        spark.setListeners(List.<TrainingListener>of(amp.listener(), new Overlap()));
        Overlap.MOST.set(0);
        spark.fit(rdd(Blobs.batches(BATCHES, 1)));
        assertEquals(BATCHES, amp.report().stepsTaken());
        assertEquals(1, Overlap.MOST.get());
    }

    @Test
    void everyStepOfAGraphIsInMixedPrecisionWithBatchesFromFiles() {
        context.close();
        // DL4J takes no other way of writing it for a cluster that can read local files.
        context = Cluster.start(Map.of("spark.master", "local[2]"));
        SparkAmp amp = SparkAmp.on(context);
        Witness witness = new Witness(context);
        SharedTrainingMaster master = SharedGradients.builder(1)
                .rddTrainingApproach(RDDTrainingApproach.Export)
                .exportDirectory(folder.toUri().toString())
                .build();
        SparkComputationGraph spark =
                new SparkComputationGraph(context, MixedPrecision.configure(Blobs.graph(), Averaging.UNUSUAL), master);
        spark.setListeners(List.of(amp.listener(), witness));
        DataSet test = DataSet.merge(Blobs.batches(8, 2));
        double before = spark.getNetwork().score(test);
        spark.fit(rdd(Blobs.batches(BATCHES, 1)));
        SparkReport report = amp.report();
        witness.requireEveryStep(BATCHES, Averaging.describeGraph(Averaging.UNUSUAL));
        assertEquals(BATCHES, report.stepsTaken() + report.stepsSkipped(), report::toString);
        assertTrue(report.stepsSkipped() > 0, report::toString);
        assertEquals(Precision.HALF, report.executors().get(0).precision());
        assertTrue(spark.getNetwork().score(test) < before);
    }

    @Test
    void scaleAndCountsGoOnFromFitToFitAndWithAnotherMaster() {
        AmpConfig config = Blobs.half(
                DynamicLossScaler.builder().initialScale(Math.pow(2, 24)).growthInterval(10_000));
        SparkAmp amp = SparkAmp.on(context);
        SparkDl4jMultiLayer spark = network(amp, config, 1);
        spark.fit(rdd(Blobs.batches(BATCHES, 1)));
        AmpState first = amp.state().orElseThrow();
        assertTrue(first.stepsSkipped() > 0);
        assertEquals(BATCHES, first.stepsTaken() + first.stepsSkipped());
        assertEquals(
                Math.scalb(1.0, Math.toIntExact(24 - first.stepsSkipped())),
                first.scaler().scale());
        spark.fit(rdd(Blobs.batches(BATCHES, 1)));
        AmpState second = amp.state().orElseThrow();
        assertEquals(2 * BATCHES, second.stepsTaken() + second.stepsSkipped());
        assertTrue(second.scaler().scale() <= first.scaler().scale());

        SparkAmp after = SparkAmp.on(context, second);
        SparkDl4jMultiLayer again = new SparkDl4jMultiLayer(context, spark.getNetwork(), SharedGradients.master(1));
        again.setListeners(List.<TrainingListener>of(after.listener()));
        again.fit(rdd(Blobs.batches(BATCHES, 1)));
        AmpState third = after.state().orElseThrow();
        assertEquals(second.stepsSkipped() + after.report().stepsSkipped(), third.stepsSkipped());
        assertTrue(after.report().stepsSkipped() < first.stepsSkipped(), () -> after.report()
                .toString());
        assertTrue(third.scaler().scale() <= second.scaler().scale());
    }

    @Test
    void iterationsOfTheNetworkAreItsOwn() {
        SparkAmp amp = SparkAmp.on(context);
        SparkDl4jMultiLayer spark = network(amp, Blobs.half(), 1);
        spark.fit(rdd(Blobs.batches(BATCHES, 1)));
        int first = spark.getNetwork().getIterationCount();
        spark.fit(rdd(Blobs.batches(BATCHES, 1)));
        // In one JVM the driver's network shares its configuration, which has the count, with the executor's.
        assertEquals(first + BATCHES, spark.getNetwork().getIterationCount());
    }

    @Test
    void adamGoesOnAtTheDriverWithTheStepsThatWereTaken() {
        AmpConfig config =
                AmpConfig.builder().precision(Precision.FLOAT).engine("onednn").build();
        SparkAmp amp = SparkAmp.on(context);
        SparkDl4jMultiLayer spark = network(amp, config, 1);
        spark.fit(rdd(Blobs.batches(BATCHES, 1)));
        MultiLayerNetwork network = spark.getNetwork();
        MultiLayerNetwork alone = network.clone();
        // As on a cluster, where DL4J counts no iterations on the driver.
        network.setIterationCount(0);
        alone.setIterationCount(BATCHES);
        DataSet batch = Blobs.batches(1, 3).get(0);
        alone.fit(batch);
        try (MixedPrecision goesOn = amp.enable(network)) {
            network.fit(batch);
            assertEquals(BATCHES + 1, goesOn.stepsTaken());
        }
        Averaging.assertClose(alone.params(), network.params());
    }

    @Test
    void severalWorkersInAnExecutorAreRefusedAndOneIsNotAfterThat() {
        SparkAmp amp = SparkAmp.on(context);
        SparkDl4jMultiLayer two = network(amp, Blobs.half(), 2);
        Exception error = assertThrows(Exception.class, () -> two.fit(rdd(Blobs.batches(BATCHES, 1))));
        assertEquals(SparkException.class, error.getClass());
        assertTrue(error.getMessage().contains("workersPerNode(1)"), error.getMessage());
        assertEquals(0, amp.report().stepsTaken());

        SparkDl4jMultiLayer one = network(amp, Blobs.half(), 1);
        one.fit(rdd(Blobs.batches(BATCHES, 1)));
        assertEquals(BATCHES, amp.report().stepsTaken());
    }

    @Test
    void trainingThatSkipsEverythingEndsWithTheReason() {
        AmpConfig config = AmpConfig.builder()
                .precision(Precision.HALF)
                .engine("nd4j")
                .maxConsecutiveSkips(7)
                .build();
        List<DataSet> broken = Blobs.batches(BATCHES, 1);
        broken.forEach(batch -> batch.getFeatures().assign(Float.NaN));
        // With one core no other task waits, and DL4J tells nobody.
        for (String master : List.of("local[2,4]", "local[1,4]")) {
            context.close();
            context = Cluster.start(Map.of("spark.master", master));
            SparkAmp amp = SparkAmp.on(context);
            SparkDl4jMultiLayer spark = network(amp, config, 1);
            Exception error = assertThrows(Exception.class, () -> spark.fit(rdd(broken)), master);
            assertEquals(SparkException.class, error.getClass());
            assertTrue(error.getMessage().contains("steps in a row were skipped"), error.getMessage());
            assertEquals(0, amp.report().stepsTaken());
        }
    }

    @Test
    void listenerOfAnotherMasterIsRefused() {
        SparkAmp amp = SparkAmp.on(context);
        ParameterAveragingTrainingMaster averaging = new ParameterAveragingTrainingMaster.Builder(1, Blobs.BATCH)
                .batchSizePerWorker(Blobs.BATCH)
                .rddTrainingApproach(RDDTrainingApproach.Direct)
                .build();
        SparkDl4jMultiLayer spark =
                new SparkDl4jMultiLayer(context, MixedPrecision.configure(Blobs.network(), Blobs.half()), averaging);
        spark.setListeners(List.<TrainingListener>of(amp.listener()));
        Exception error = assertThrows(Exception.class, () -> spark.fit(rdd(Blobs.batches(10, 1))));
        assertTrue(error.getMessage().contains("SparkAmp.hook()"), error.getMessage());
    }

    @Test
    void listenersOfTwoTrainingsAreRefused() {
        SparkDl4jMultiLayer spark = network(SparkAmp.on(context), Blobs.half(), 1);
        spark.setListeners(List.<TrainingListener>of(
                SparkAmp.on(context).listener(), SparkAmp.on(context).listener()));
        Exception error = assertThrows(Exception.class, () -> spark.fit(rdd(Blobs.batches(10, 1))));
        assertTrue(error.getMessage().contains("two listeners of SparkAmp"), error.getMessage());
    }

    @Test
    void listenerOutsideOfATaskSaysWhereItBelongs() {
        MultiLayerNetwork network = new MultiLayerNetwork(Blobs.network());
        network.init();
        network.setListeners(SparkAmp.on(context).listener());
        DataSet batch = Blobs.batches(1, 1).get(0);
        INDArray before = network.params().dup();
        AmpException error = assertThrows(AmpException.class, () -> network.fit(batch));
        assertTrue(error.getMessage().contains("outside of a Spark task"), error.getMessage());
        assertTrue(error.getMessage().contains("AmpListener"), error.getMessage());
        assertEquals(before, network.params());
    }

    @Test
    void nothingToGoOnFromIsSaidBeforeAnyTaskHasEnded() {
        MultiLayerNetwork network = new MultiLayerNetwork(Blobs.network());
        network.init();
        SparkAmp amp = SparkAmp.on(context);
        AmpException error = assertThrows(AmpException.class, () -> amp.enable(network));
        assertTrue(error.getMessage().contains("no task has ended"), error.getMessage());
        assertTrue(MixedPrecision.of(network).isEmpty());
    }

    /**
     * Counts the tasks that have come as far as to read what follows the listener of {@link SparkAmp}, until they
     * complete.
     */
    private static final class Overlap extends BaseTrainingListener implements Serializable {
        static final AtomicInteger MOST = new AtomicInteger();

        private static final long serialVersionUID = 1L;
        private static final AtomicInteger RUNNING = new AtomicInteger();

        private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
            in.defaultReadObject();
            TaskContext task = TaskContext.get();
            if (task != null) {
                MOST.accumulateAndGet(RUNNING.incrementAndGet(), Math::max);
                task.addTaskCompletionListener((TaskCompletionListener) context -> RUNNING.decrementAndGet());
            }
        }
    }

    private SparkDl4jMultiLayer network(SparkAmp amp, AmpConfig config, int workersPerNode) {
        SparkDl4jMultiLayer network = new SparkDl4jMultiLayer(
                context, MixedPrecision.configure(Blobs.network(), config), SharedGradients.master(workersPerNode));
        Collection<TrainingListener> listeners = List.of(amp.listener());
        network.setListeners(listeners);
        return network;
    }

    private JavaRDD<DataSet> rdd(List<DataSet> batches) {
        return context.parallelize(batches, Cluster.CORES);
    }
}
