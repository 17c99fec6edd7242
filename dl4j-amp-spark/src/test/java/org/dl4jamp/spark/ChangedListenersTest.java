package org.dl4jamp.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.spark.SparkException;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.deeplearning4j.optimize.listeners.ScoreIterationListener;
import org.deeplearning4j.spark.impl.multilayer.SparkDl4jMultiLayer;
import org.deeplearning4j.spark.parameterserver.pw.SharedTrainingWrapper;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;

/**
 * Listeners that change from one fit to the next of a {@code SharedTrainingMaster}, whose executors keep those of the
 * first.
 */
@EnabledForJreRange(maxVersion = 22, disabledReason = "Spark 3.5 needs Subject.getSubject, which newer JDKs lack")
@Timeout(value = 3, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("long")
class ChangedListenersTest {
    private static final int BATCHES = 40;

    private final JavaSparkContext context = Cluster.start();

    @AfterEach
    void stop() {
        context.close();
        Turn.await(() -> false).close();
    }

    @Test
    void fitWithoutTheListenerAfterOneWithItEndsWithTheReason() {
        SparkAmp amp = SparkAmp.on(context);
        SparkDl4jMultiLayer spark = inTasksAsGiven();
        spark.setListeners(List.of(amp.listener()));
        spark.fit(rdd());
        INDArray before = spark.getNetwork().params().dup();
        spark.setListeners(List.<TrainingListener>of(new ScoreIterationListener(10)));
        Exception error = assertThrows(Exception.class, () -> spark.fit(oneTask()));
        assertEquals(SparkException.class, error.getClass());
        assertTrue(error.getMessage().contains("spark.setListeners replaces all of them"), error.getMessage());
        assertEquals(before, spark.getNetwork().params());
        assertEquals(BATCHES, amp.report().stepsTaken());

        spark.setListeners(List.of(amp.listener(), new ScoreIterationListener(10)));
        spark.fit(rdd());
        assertEquals(2 * BATCHES, amp.report().stepsTaken());
    }

    @Test
    void fitWithTheListenerAfterOneWithoutIsInMixedPrecision() {
        SparkAmp amp = SparkAmp.on(context);
        Witness witness = new Witness(context);
        SparkDl4jMultiLayer spark = inTasksAsGiven();
        spark.setListeners(List.of(witness));
        spark.fit(oneTask());
        assertEquals(
                Set.of(0), witness.seen().stream().map(Witness.Seen::partition).collect(Collectors.toSet()));
        assertEquals(
                Set.of("none"),
                witness.seen().stream().map(Witness.Seen::mixedPrecision).collect(Collectors.toSet()));
        int inFp32 = witness.seen().size();
        spark.setListeners(List.of(amp.listener(), witness));
        spark.fit(rdd());
        assertEquals(BATCHES, amp.report().stepsTaken());
        assertEquals(Precision.HALF, amp.report().executors().get(0).precision());
        assertEquals(inFp32 + BATCHES, witness.seen().size());
        assertEquals(
                BATCHES,
                witness.seen().stream()
                        .filter(seen -> seen.mixedPrecision().startsWith("HALF on nd4j"))
                        .count());
    }

    @Test
    void listenerOfAnotherSparkAmpReportsToThatOne() {
        SparkAmp first = SparkAmp.on(context);
        SparkAmp second = SparkAmp.on(context);
        SparkDl4jMultiLayer spark = SharedGradients.network(
                context, MixedPrecision.configure(Blobs.network(), Blobs.half()), first.listener());
        spark.fit(rdd());
        spark.setListeners(List.of(second.listener()));
        spark.fit(rdd());
        assertEquals(BATCHES, first.report().stepsTaken());
        assertEquals(BATCHES, second.report().stepsTaken());
    }

    @Test
    void listenerWithOtherSettingsThanTheNetworkHasEndsTheFit() {
        SparkAmp first = SparkAmp.on(context, Blobs.half());
        SparkAmp second = SparkAmp.on(
                context,
                AmpConfig.builder()
                        .precision(Precision.HALF)
                        .engine("nd4j")
                        .clipGradientNorm(1)
                        .build());
        SparkDl4jMultiLayer spark = SharedGradients.network(context, Blobs.network(), first.listener());
        spark.fit(rdd());
        spark.setListeners(List.of(second.listener()));
        Exception error = assertThrows(Exception.class, () -> spark.fit(rdd()));
        assertTrue(error.getMessage().contains("since an earlier fit of the same master"), error.getMessage());
        assertTrue(error.getMessage().contains("clipGradientNorm(1.0)"), error.getMessage());
        assertEquals(0, second.report().stepsTaken());
    }

    @Test
    void taskThatHadDataAndMadeNoStepInMixedPrecisionFails() {
        TrainingListener listener = SparkAmp.on(context).listener();
        // As a training master would that doesn't give the listener to the network.
        FlatMapFunction<Iterator<DataSet>, Integer> function = batches -> {
            SharedTrainingWrapper.getInstance(-7).attachDS(batches);
            return List.of(listener.hashCode()).iterator();
        };
        Exception error = assertThrows(
                Exception.class, () -> rdd().mapPartitions(function).collect());
        assertTrue(error.getMessage().contains("had data, and made no step in mixed precision"), error.getMessage());
    }

    private SparkDl4jMultiLayer inTasksAsGiven() {
        return new SparkDl4jMultiLayer(
                context, MixedPrecision.configure(Blobs.network(), Blobs.half()), SharedGradients.tasksAsGiven());
    }

    /** For fits without the listener: see {@link SharedGradients#tasksAsGiven}. */
    private JavaRDD<DataSet> oneTask() {
        return context.parallelize(Blobs.batches(BATCHES, 1), 1);
    }

    private JavaRDD<DataSet> rdd() {
        return context.parallelize(Blobs.batches(BATCHES, 1), Cluster.CORES);
    }
}
