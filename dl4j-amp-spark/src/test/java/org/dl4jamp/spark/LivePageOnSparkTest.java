package org.dl4jamp.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.spark.api.java.JavaSparkContext;
import org.deeplearning4j.core.storage.Persistable;
import org.deeplearning4j.spark.impl.multilayer.SparkDl4jMultiLayer;
import org.deeplearning4j.ui.model.storage.InMemoryStatsStorage;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.ui.MixedPrecisionStatsListener;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledForJreRange;

/** Tasks report to the live page as workers of one session. */
@EnabledForJreRange(maxVersion = 22, disabledReason = "Spark 3.5 needs Subject.getSubject, which newer JDKs lack")
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LivePageOnSparkTest {
    private static final int BATCHES = 40;

    private final JavaSparkContext context = Cluster.start();

    @AfterEach
    void stop() {
        context.close();
    }

    @Test
    void eachExecutorIsAWorkerWithItsStepsAndSkips() {
        SparkAmp amp = SparkAmp.on(context);
        InMemoryStatsStorage storage = new InMemoryStatsStorage();
        SparkDl4jMultiLayer spark = new SparkDl4jMultiLayer(
                context,
                MixedPrecision.configure(Blobs.network(), Averaging.UNUSUAL),
                Averaging.master(Cluster.CORES).trainingHooks(amp.hook()).build());
        MixedPrecisionStatsListener listener = new MixedPrecisionStatsListener(null, 1);
        spark.setListeners(storage, List.of(listener));
        spark.fit(context.parallelize(Blobs.batches(BATCHES, 1), Cluster.CORES));

        assertEquals(List.of(listener.getSessionID()), storage.listSessionIDs());
        List<String> workers = storage.listWorkerIDsForSession(listener.getSessionID());
        assertEquals(Cluster.CORES, workers.size(), workers::toString);
        List<String> types = storage.listTypeIDsForSession(listener.getSessionID());
        assertEquals(1, types.size());
        assertTrue(amp.report().stepsSkipped() > 0);
        long updates = workers.stream()
                .map(worker -> storage.getAllUpdatesAfter(listener.getSessionID(), types.get(0), worker, 0))
                .mapToLong(List<Persistable>::size)
                .sum();
        assertEquals(BATCHES + amp.report().stepsSkipped(), updates, "a report of each step and of each skip");
    }
}
