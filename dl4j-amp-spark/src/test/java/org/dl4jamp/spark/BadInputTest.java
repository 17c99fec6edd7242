package org.dl4jamp.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.storage.StorageLevel;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.spark.api.RDDTrainingApproach;
import org.deeplearning4j.spark.api.TrainingHook;
import org.deeplearning4j.spark.impl.multilayer.SparkDl4jMultiLayer;
import org.deeplearning4j.spark.impl.paramavg.ParameterAveragingTrainingMaster;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.checkpoint.AmpState;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.AmpException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.nd4j.linalg.dataset.DataSet;

@EnabledForJreRange(maxVersion = 22, disabledReason = "Spark 3.5 needs Subject.getSubject, which newer JDKs lack")
@Timeout(value = 10, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BadInputTest {
    @Test
    void contextThatIsNullIsNamed() {
        AmpException error = assertThrows(AmpException.class, () -> SparkAmp.on(null));
        assertTrue(error.getMessage().contains("sparkContext: null"), error.getMessage());
    }

    @Test
    void contextThatIsStoppedIsNamed() {
        JavaSparkContext context = Cluster.start();
        SparkAmp amp = SparkAmp.on(context);
        context.close();
        for (Runnable call : List.<Runnable>of(() -> SparkAmp.on(context), amp::hook)) {
            AmpException error = assertThrows(AmpException.class, call::run);
            assertTrue(error.getMessage().contains("\"dl4j-amp tests\" is stopped"), error.getMessage());
        }
        assertEquals(0, amp.report().stepsTaken());
        assertEquals(Optional.empty(), amp.state());
    }

    @Test
    void stateThatIsNullIsNamed() {
        try (JavaSparkContext context = Cluster.start()) {
            AmpException error = assertThrows(AmpException.class, () -> SparkAmp.on(context, (AmpState) null));
            assertTrue(error.getMessage().contains("state: null"), error.getMessage());
        }
    }

    @Test
    void hookOutsideOfATaskSaysWhereItBelongs() throws Exception {
        MultiLayerNetwork network = new MultiLayerNetwork(Blobs.network());
        network.init();
        DataSet batch = Blobs.batches(1, 1).get(0);
        try (JavaSparkContext context = Cluster.start()) {
            TrainingHook hook = SparkAmp.on(context).hook();
            for (TrainingHook each : List.of(hook, sent(hook))) {
                AmpException error = assertThrows(AmpException.class, () -> each.preUpdate(batch, network));
                assertTrue(error.getMessage().contains("outside of a Spark task"), error.getMessage());
                assertTrue(error.getMessage().contains("MixedPrecision.enable"), error.getMessage());
            }
        }
        assertTrue(MixedPrecision.of(network).isEmpty());
    }

    @Test
    void cachedRddEndsAtOnceAndTrainsWithoutAStorageLevel() {
        try (JavaSparkContext context = Cluster.start()) {
            JavaRDD<DataSet> cached =
                    context.parallelize(Blobs.batches(10, 1), 1).persist(StorageLevel.MEMORY_AND_DISK());
            SparkAmp amp = SparkAmp.on(context);
            UnsupportedOperationException error = assertThrows(
                    UnsupportedOperationException.class,
                    () -> fit(context, amp, cached, StorageLevel.MEMORY_ONLY_SER()));
            assertTrue(error.getMessage().contains("Cannot change storage level"), error.getMessage());
            fit(context, amp, cached, null);
            assertEquals(10, amp.report().stepsTaken());
        }
    }

    @Test
    void accumulationEndsAtOnceAndSaysWhatToDo() {
        AmpConfig config = AmpConfig.builder().accumulate(4).build();
        try (JavaSparkContext context = Cluster.start()) {
            SparkAmp amp = SparkAmp.on(context);
            JavaRDD<DataSet> data = context.parallelize(Blobs.batches(10, 1), 1);
            Exception error = assertThrows(Exception.class, () -> fit(context, amp, data, null, config));
            assertTrue(error.getMessage().contains("config: accumulate(4) isn't for tasks"), error.getMessage());
            assertTrue(error.getMessage().contains("Leave it out"), error.getMessage());
            assertEquals(0, amp.report().stepsTaken());
        }
    }

    @Test
    void stateInWhichMicroBatchesWaitIsRefused() {
        MultiLayerNetwork network = new MultiLayerNetwork(Blobs.network());
        network.init();
        AmpConfig config = AmpConfig.builder().accumulate(4).build();
        try (JavaSparkContext context = Cluster.start();
                MixedPrecision amp = MixedPrecision.enable(network, config)) {
            network.fit(Blobs.batches(1, 1).get(0));
            AmpException error = assertThrows(AmpException.class, () -> SparkAmp.on(context, amp.state()));
            assertTrue(error.getMessage().contains("state: 1 micro-batches wait"), error.getMessage());
            assertTrue(error.getMessage().contains("applyPartialGroup()"), error.getMessage());
            amp.applyPartialGroup();
            AmpException settings = assertThrows(AmpException.class, () -> SparkAmp.on(context, amp.state()));
            assertTrue(settings.getMessage().contains("state: accumulate(4)"), settings.getMessage());
        }
    }

    @Test
    void artifactOfAMissingClassIsNamed() {
        for (String[] each : new String[][] {
            {"java.lang.ClassNotFoundException: org.dl4jamp.spark.AmpTrainingHook\n\tat x", "dl4j-amp-spark"},
            {"Caused by: java.lang.NoClassDefFoundError: org/dl4jamp/MixedPrecision\n", "dl4j-amp-core"},
            {"java.lang.ClassNotFoundException: org.dl4jamp.listeners.AmpListener", "dl4j-amp-listeners"},
            {"java.lang.ClassNotFoundException: org.dl4jamp.precision.Precision", "dl4j-amp-scale"},
        }) {
            String advice = MissingClasses.advice(each[0], "host-3").orElseThrow();
            assertTrue(advice.contains("host-3 lack org.dl4jamp:" + each[1] + ":"), advice);
            assertTrue(advice.contains("--jars"), advice);
        }
        assertEquals(Optional.empty(), MissingClasses.advice("java.lang.ClassNotFoundException: com.example.A", "h"));
        assertEquals(Optional.empty(), MissingClasses.advice("org.dl4jamp.precision.AmpException: lossScaler", "h"));
    }

    private static void fit(JavaSparkContext context, SparkAmp amp, JavaRDD<DataSet> data, StorageLevel level) {
        fit(context, amp, data, level, Blobs.half());
    }

    private static void fit(
            JavaSparkContext context, SparkAmp amp, JavaRDD<DataSet> data, StorageLevel level, AmpConfig config) {
        ParameterAveragingTrainingMaster master = new ParameterAveragingTrainingMaster.Builder(1, Blobs.BATCH)
                .batchSizePerWorker(Blobs.BATCH)
                .storageLevel(level)
                .rddTrainingApproach(RDDTrainingApproach.Direct)
                .trainingHooks(amp.hook())
                .build();
        new SparkDl4jMultiLayer(context, MixedPrecision.configure(Blobs.network(), config), master).fit(data);
    }

    private static TrainingHook sent(TrainingHook hook) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(hook);
        }
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            return (TrainingHook) in.readObject();
        }
    }
}
