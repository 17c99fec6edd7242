package org.dl4jamp.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.Serializable;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.SparkException;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.distribution.Distribution;
import org.deeplearning4j.nn.conf.distribution.NormalDistribution;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.weights.WeightInitDistribution;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.spark.api.RDDTrainingApproach;
import org.deeplearning4j.spark.impl.multilayer.SparkDl4jMultiLayer;
import org.deeplearning4j.spark.impl.repartitioner.EqualRepartitioner;
import org.dl4jamp.MixedPrecision;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/** Tasks of shared gradients that fail, are run again, are killed, or whose job is cancelled. */
@EnabledForJreRange(maxVersion = 22, disabledReason = "Spark 3.5 needs Subject.getSubject, which newer JDKs lack")
@Timeout(value = 3, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("long")
class SharedFailuresTest {
    private static final int BATCHES = 40;

    private final JavaSparkContext context = Cluster.start();

    @BeforeEach
    void begin() {
        Trouble.reset();
    }

    @AfterEach
    void stop() {
        Trouble.reset();
        context.close();
        Turn.await(() -> false).close();
    }

    @Test
    void taskThatFailsBeforeFitEndsTheFitWithItsReasonAndTheNextFitTrains() {
        SparkAmp amp = SparkAmp.on(context);
        SparkDl4jMultiLayer spark = SharedGradients.network(context, troubled(), amp.listener());
        Trouble.WHEN_BUILT.set(Integer.MAX_VALUE);
        Exception error = assertThrows(Exception.class, () -> spark.fit(rdd()));
        assertEquals(SparkException.class, error.getClass());
        assertTrue(error.getMessage().contains("no network on purpose"), error.getMessage());
        assertEquals(0, amp.report().stepsTaken());
        Trouble.reset();
        spark.fit(rdd());
        assertEquals(BATCHES, amp.report().stepsTaken());
    }

    @Test
    void taskThatFailsBeforeFitIsRunAgainWithItsDataOnce() {
        SparkAmp amp = SparkAmp.on(context);
        Witness witness = new Witness(context);
        SparkDl4jMultiLayer spark = SharedGradients.network(context, troubled(), amp.listener(), witness);
        Trouble.WHEN_BUILT.set(1);
        spark.fit(rdd());
        assertEquals(BATCHES, amp.report().stepsTaken());
        assertEquals(BATCHES, witness.seen().size());
        // A later one, when the executor has a network.
        int first = spark.getNetwork().getIterationCount();
        Trouble.WHEN_BUILT.set(1);
        spark.fit(rdd());
        assertEquals(2 * BATCHES, amp.report().stepsTaken());
        assertEquals(first + BATCHES, spark.getNetwork().getIterationCount());
    }

    @Test
    void taskThatFailsWithinFitIsCountedOnceAndAllItsStepsAreIterations() {
        SparkAmp amp = SparkAmp.on(context);
        Witness witness = new Witness(context);
        SparkDl4jMultiLayer spark = new SparkDl4jMultiLayer(
                context,
                troubled(),
                SharedGradients.builder(1)
                        .rddTrainingApproach(RDDTrainingApproach.Direct)
                        .repartitioner(new EqualRepartitioner())
                        .build());
        spark.setListeners(List.of(amp.listener(), witness, new AfterSteps()));
        spark.fit(rdd());
        int first = spark.getNetwork().getIterationCount();
        Trouble.IN_STEP.set(3);
        spark.fit(rdd());
        assertEquals(2 * BATCHES, amp.report().stepsTaken());
        assertEquals(2 * BATCHES, witness.seen().size());
        // The third step threw before DL4J counted it.
        assertEquals(first + BATCHES + 2, spark.getNetwork().getIterationCount());
    }

    @Test
    void taskThatIsKilledIsRunAgainAndCountedOnce() throws Exception {
        SparkAmp amp = SparkAmp.on(context);
        SparkDl4jMultiLayer spark = SharedGradients.network(context, troubled(), amp.listener(), new AfterSteps());
        Trouble.WAITS_IN_STEP.set(5);
        CompletableFuture<Void> fit = CompletableFuture.runAsync(() -> spark.fit(rdd()));
        Trouble.waits.await();
        context.sc().killTaskAttempt(Trouble.ATTEMPT.get(), true, "on purpose");
        fit.get();
        assertEquals(BATCHES, amp.report().stepsTaken());
        spark.fit(rdd());
        assertEquals(2 * BATCHES, amp.report().stepsTaken());
    }

    @Test
    void jobThatIsCancelledInAStepLeavesTheExecutorToTheNextFit() throws Exception {
        cancelledAndFittedAgain(Trouble.WAITS_IN_STEP);
    }

    @Test
    void jobThatIsCancelledBeforeFitLeavesTheExecutorToTheNextFit() throws Exception {
        cancelledAndFittedAgain(Trouble.WAITS_WHEN_BUILT);
    }

    private void cancelledAndFittedAgain(AtomicInteger trouble) throws Exception {
        SparkAmp amp = SparkAmp.on(context);
        SparkDl4jMultiLayer spark = SharedGradients.network(context, troubled(), amp.listener(), new AfterSteps());
        trouble.set(1);
        CompletableFuture<Void> fit = CompletableFuture.runAsync(() -> spark.fit(rdd()));
        Trouble.waits.await();
        context.cancelAllJobs();
        Exception error = assertThrows(Exception.class, fit::get);
        assertTrue(error.getCause().getMessage().contains("cancelled"), error::toString);
        INDArray before = spark.getNetwork().params().dup();
        spark.fit(rdd());
        assertEquals(BATCHES, amp.report().stepsTaken());
        assertTrue(spark.getNetwork().params().distance2(before) > 0.01);
    }

    /** What goes wrong in this JVM, which is the driver and the executor. */
    private static final class Trouble {
        static final AtomicInteger WHEN_BUILT = new AtomicInteger();
        static final AtomicInteger WAITS_WHEN_BUILT = new AtomicInteger();
        static final AtomicInteger IN_STEP = new AtomicInteger();
        static final AtomicInteger WAITS_IN_STEP = new AtomicInteger();
        static final AtomicLong ATTEMPT = new AtomicLong();
        static CountDownLatch waits = new CountDownLatch(1);

        static void reset() {
            List.of(WHEN_BUILT, WAITS_WHEN_BUILT, IN_STEP, WAITS_IN_STEP).forEach(each -> each.set(0));
            waits = new CountDownLatch(1);
        }

        static void awaitInterrupt() {
            ATTEMPT.set(TaskContext.get().taskAttemptId());
            waits.countDown();
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException e) {
                throw new IllegalStateException("interrupted on purpose", e);
            }
        }
    }

    /** Throws, or waits to be interrupted, when the trouble's number of steps have been done. */
    private static final class AfterSteps extends BaseTrainingListener implements Serializable {
        private static final long serialVersionUID = 1L;

        @Override
        public void iterationDone(Model model, int iteration, int epoch) {
            if (Trouble.IN_STEP.get() > 0 && Trouble.IN_STEP.decrementAndGet() == 0) {
                throw new IllegalStateException("no step on purpose");
            }
            if (Trouble.WAITS_IN_STEP.get() > 0 && Trouble.WAITS_IN_STEP.decrementAndGet() == 0) {
                Trouble.awaitInterrupt();
            }
        }
    }

    /** Makes a network that can't be built in a task, while there is trouble. */
    private static final class InTrouble extends WeightInitDistribution {
        private static final long serialVersionUID = 1L;

        InTrouble(Distribution distribution) {
            super(distribution);
        }

        @Override
        public INDArray init(double fanIn, double fanOut, long[] shape, char order, INDArray parameters) {
            if (TaskContext.get() != null) {
                if (Trouble.WHEN_BUILT.get() > 0) {
                    Trouble.WHEN_BUILT.decrementAndGet();
                    throw new IllegalStateException("no network on purpose");
                }
                if (Trouble.WAITS_WHEN_BUILT.get() > 0) {
                    Trouble.WAITS_WHEN_BUILT.decrementAndGet();
                    Trouble.awaitInterrupt();
                }
            }
            return super.init(fanIn, fanOut, shape, order, parameters);
        }
    }

    private static MultiLayerConfiguration troubled() {
        MultiLayerConfiguration configuration = MixedPrecision.configure(Blobs.network(), Blobs.half());
        ((BaseLayer) configuration.getConf(0).getLayer())
                .setWeightInitFn(new InTrouble(new NormalDistribution(0, 0.1)));
        Nd4j.getRandom().setSeed(1);
        return configuration;
    }

    private JavaRDD<DataSet> rdd() {
        return context.parallelize(Blobs.batches(BATCHES, 1), Cluster.CORES);
    }
}
