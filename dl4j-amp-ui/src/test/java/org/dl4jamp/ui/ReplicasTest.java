package org.dl4jamp.ui;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.stream.LongStream;
import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.deeplearning4j.parallelism.ParallelWrapper.TrainingMode;
import org.deeplearning4j.ui.model.storage.InMemoryStatsStorage;
import org.dl4jamp.parallel.AmpReplicas;
import org.dl4jamp.ui.record.StepContent;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.nd4j.linalg.dataset.DataSet;

/** Replicas of a ParallelWrapper report as workers of one session, in each fit as the same ones. */
class ReplicasTest {
    private static final int REPLICAS = 2;

    @Test
    @Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void eachReplicaIsAWorkerWithItsOwnScaleAndSkips() throws Exception {
        List<DataSet> batches = LongStream.range(0, 8).mapToObj(Training::batch).toList();
        MultiLayerNetwork network = Training.network("one", "two");
        InMemoryStatsStorage storage = new InMemoryStatsStorage();
        try (ParallelWrapper wrapper = new ParallelWrapper.Builder<>(network)
                        .workers(REPLICAS)
                        .trainingMode(TrainingMode.AVERAGING)
                        .averagingFrequency(1)
                        .prefetchBuffer(0)
                        .build();
                AmpReplicas amp = AmpReplicas.installIn(
                        wrapper, Training.half(0x1p30, 1000).build())) {
            wrapper.setListeners(storage, new MixedPrecisionStatsListener(null, 1, "session", "source"));
            wrapper.fit(new ExistingDataSetIterator(batches));
            wrapper.fit(new ExistingDataSetIterator(batches));
            assertEquals(REPLICAS, amp.states().size());
        }
        List<String> workers = Storages.workers(storage, "session");
        try (AmpUi ui = AmpUi.builder().port(0).start().attach(storage)) {
            assertEquals(workers, Pages.workers(ui.port(), "session"), "side by side on the page");
        }
        assertEquals(REPLICAS, workers.size(), workers::toString);
        for (int i = 0; i < REPLICAS; i++) {
            String worker = workers.get(i);
            assertTrue(worker.endsWith("_thread_" + i), worker);
            List<StepContent> steps = Storages.steps(storage, "session", worker);
            assertEquals(2 * batches.size() / REPLICAS, steps.size());
            StepContent last = steps.get(steps.size() - 1);
            assertEquals(steps.size(), last.stepsTaken() + last.stepsSkipped());
            assertTrue(last.stepsSkipped() > 0);
            assertEquals(
                    last.stepsSkipped(),
                    Storages.skips(storage, "session", worker).size());
        }
    }
}
