package org.dl4jamp.parallel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.optimize.api.StepFunction;
import org.deeplearning4j.optimize.solvers.accumulation.BasicGradientsAccumulator;
import org.deeplearning4j.optimize.solvers.accumulation.LocalHandler;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.deeplearning4j.parallelism.ParallelWrapper.TrainingMode;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;

// In a thread of its own: DL4J's waiting can't be interrupted.
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FailingReplicasTest {
    private static final AmpConfig GIVES_UP_AFTER_3 = AmpConfig.builder()
            .precision(Precision.HALF)
            .engine("nd4j")
            .maxConsecutiveSkips(3)
            .build();

    private final List<DataSet> good = Replicas.batches(20, 32, 1);

    /** Every other batch, which replica 1 gets, is broken. */
    private static List<DataSet> broken(int count) {
        List<DataSet> batches = Replicas.batches(count, 32, 1);
        for (int i = 1; i < count; i += 2) {
            batches.get(i).getFeatures().putScalar(3, 5, Float.NaN);
        }
        return batches;
    }

    @ParameterizedTest
    @CsvSource({
        "AVERAGING, 1, 20, false",
        "AVERAGING, 2, 20, true",
        // In its last round, which isn't followed by an averaging.
        "AVERAGING, 2, 6, false",
        "SHARED_GRADIENTS, 1, 20, false",
        "SHARED_GRADIENTS, 5, 20, true",
        "SHARED_GRADIENTS, 1, 6, false"
    })
    void aReplicaThatGivesUpEndsTheFitWithItsException(TrainingMode mode, int frequency, int batches, boolean graph) {
        Model net = Replicas.initialized(graph);
        ParallelWrapper wrapper = new ParallelWrapper.Builder<>(net)
                .workers(2)
                .averagingFrequency(frequency)
                .prefetchBuffer(2)
                .trainingMode(mode)
                .build();
        try (AmpReplicas amp = AmpReplicas.installIn(wrapper, GIVES_UP_AFTER_3)) {
            AmpException e = assertThrows(AmpException.class, () -> wrapper.fit(Replicas.iterator(broken(batches))));
            assertTrue(
                    e.getMessage().startsWith("3 steps in a row were skipped (maxConsecutiveSkips(3))"), e::getMessage);
            assertTrue(e.getMessage().contains("NaN at [3, 5]"), e::getMessage);
            assertEquals(3, amp.states().get(1).stepsSkipped());
            assertEquals(0, amp.states().get(0).stepsSkipped());
        }
    }

    @Test
    void aWrapperThatAveragesCanBeFittedAgain() {
        Model net = Replicas.initialized(false);
        ParallelWrapper wrapper = Replicas.wrapper(net, 2, TrainingMode.AVERAGING);
        try (AmpReplicas amp = AmpReplicas.installIn(wrapper, GIVES_UP_AFTER_3)) {
            assertThrows(AmpException.class, () -> wrapper.fit(Replicas.iterator(broken(20))));
            wrapper.fit(Replicas.iterator(good));
            assertEquals(10, amp.states().get(1).stepsTaken());
            assertEquals(3, amp.states().get(1).stepsSkipped());
        }
    }

    @Test
    void aWrapperThatSharesGradientsSaysThatItCant() {
        Model net = Replicas.initialized(false);
        ParallelWrapper wrapper = Replicas.wrapper(net, 2, TrainingMode.SHARED_GRADIENTS);
        try (AmpReplicas amp = AmpReplicas.installIn(wrapper, GIVES_UP_AFTER_3)) {
            assertThrows(AmpException.class, () -> wrapper.fit(Replicas.iterator(broken(20))));
            AmpException e = assertThrows(AmpException.class, () -> wrapper.fit(Replicas.iterator(good)));
            assertTrue(e.getMessage().contains("build another ParallelWrapper"), e::getMessage);
            assertEquals(3, amp.states().get(1).stepsSkipped());
        }
        try (ParallelWrapper another = Replicas.wrapper(net, 2, TrainingMode.SHARED_GRADIENTS);
                AmpReplicas amp = AmpReplicas.installIn(another, GIVES_UP_AFTER_3)) {
            another.fit(Replicas.iterator(good));
            assertEquals(10, amp.states().get(1).stepsTaken());
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    @ParameterizedTest
    @EnumSource(value = TrainingMode.class, names = "CUSTOM", mode = EnumSource.Mode.EXCLUDE)
    void whatAListenerThrowsInAReplicasThreadEndsTheFit(TrainingMode mode) {
        for (Throwable thrown :
                List.of(new IllegalStateException("of a listener"), new AssertionError("of a listener"))) {
            Model net = Replicas.initialized(false);
            AtomicInteger calls = new AtomicInteger();
            net.setListeners(List.of(new BaseTrainingListener() {
                @Override
                public void iterationDone(Model model, int iteration, int epoch) {
                    if (model != net && calls.incrementAndGet() == 4) {
                        if (thrown instanceof Error error) {
                            throw error;
                        }
                        throw (RuntimeException) thrown;
                    }
                }
            }));
            ParallelWrapper wrapper = Replicas.wrapper(net, 2, mode);
            try (AmpReplicas amp = AmpReplicas.installIn(wrapper, GIVES_UP_AFTER_3)) {
                assertSame(thrown, assertThrows(Throwable.class, () -> wrapper.fit(Replicas.iterator(good))));
                assertEquals(2, amp.states().size());
            }
        }
    }

    @ParameterizedTest
    @EnumSource(value = TrainingMode.class, names = "CUSTOM", mode = EnumSource.Mode.EXCLUDE)
    void aReplicaThatCantBeEnabledEndsTheFit(TrainingMode mode) {
        AmpConfig config = AmpConfig.builder()
                .precision(Precision.HALF)
                .engine("nd4j")
                .keepFull(layer -> {
                    if (Thread.currentThread().getName().startsWith("ParallelWrapper training thread 1")) {
                        throw new IllegalArgumentException("of a predicate");
                    }
                    return "layer1".equals(layer.getLayerName());
                })
                .build();
        Model net = Replicas.initialized(false);
        ParallelWrapper wrapper = Replicas.wrapper(net, 3, mode);
        try (AmpReplicas amp = AmpReplicas.installIn(wrapper, config)) {
            IllegalArgumentException e =
                    assertThrows(IllegalArgumentException.class, () -> wrapper.fit(Replicas.iterator(good)));
            assertEquals("of a predicate", e.getMessage());
            assertEquals(0, amp.states().get(0).stepsTaken());
        }
    }

    /** Has replica 1 fail in its second step, while replica 0, the network itself, is in one that takes long. */
    private static void failWhileTheSourceTakesLong(Model net, ParallelWrapper wrapper, AtomicBoolean ended) {
        CountDownLatch slow = new CountDownLatch(1);
        wrapper.setListeners(new BaseTrainingListener() {
            @Override
            public void iterationDone(Model model, int iteration, int epoch) {
                try {
                    if (model == net && iteration == 1) {
                        slow.countDown();
                        TimeUnit.SECONDS.sleep(7);
                        ended.set(true);
                    } else if (iteration == 1) {
                        slow.await();
                        throw new IllegalStateException("of a listener");
                    }
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
        });
    }

    @Tag("long")
    @ParameterizedTest
    @EnumSource(value = TrainingMode.class, names = "CUSTOM", mode = EnumSource.Mode.EXCLUDE)
    void aSlowStepOfTheNetworkItselfIsWaitedForAfterAFailure(TrainingMode mode) {
        Model net = Replicas.initialized(false);
        AtomicBoolean ended = new AtomicBoolean();
        ParallelWrapper wrapper = Replicas.wrapper(net, 2, mode);
        failWhileTheSourceTakesLong(net, wrapper, ended);
        try (AmpReplicas amp = AmpReplicas.installIn(wrapper, GIVES_UP_AFTER_3)) {
            IllegalStateException e =
                    assertThrows(IllegalStateException.class, () -> wrapper.fit(Replicas.iterator(good)));
            assertTrue(ended.get(), "nobody trains the network when fit has thrown");
            assertEquals("of a listener", e.getMessage());
            assertEquals(0, e.getSuppressed().length);
            assertEquals(2, amp.states().size());
        }
    }

    /** An accumulator in which replica 0 waits for ever in its second step. */
    private static final class Stuck extends BasicGradientsAccumulator {
        private static final long serialVersionUID = 1;
        private final transient CountDownLatch end = new CountDownLatch(1);
        private final transient AtomicInteger calls = new AtomicInteger();

        private Stuck() {
            super(2, new LocalHandler());
        }

        @Override
        public void storeUpdate(INDArray update, int iteration, int epoch) {
            boolean ofSource = Thread.currentThread().getName().endsWith("thread 0");
            if (ofSource && calls.incrementAndGet() == 2) {
                try {
                    end.await();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
        }

        @Override
        public void applyUpdate(StepFunction function, INDArray parameters, INDArray updates, boolean isFinalStep) {
            function.step(parameters, updates);
        }
    }

    @Tag("long")
    @Test
    void aReplicaThatWaitsForeverInAnAccumulatorOfTheUsersIsLeftBehindAndTheFailureSaysSo() {
        Model net = Replicas.initialized(false);
        Stuck stuck = new Stuck();
        net.setListeners(List.of(new BaseTrainingListener() {
            @Override
            public void iterationDone(Model model, int iteration, int epoch) {
                if (model != net && iteration == 1) {
                    throw new IllegalStateException("of a listener");
                }
            }
        }));
        ParallelWrapper wrapper = new ParallelWrapper.Builder<>(net)
                .workers(2)
                .prefetchBuffer(2)
                .trainingMode(TrainingMode.CUSTOM)
                .gradientsAccumulator(stuck)
                .build();
        AmpReplicas amp = AmpReplicas.installIn(wrapper, GIVES_UP_AFTER_3);
        IllegalStateException e = assertThrows(IllegalStateException.class, () -> wrapper.fit(Replicas.iterator(good)));
        assertEquals("of a listener", e.getMessage());
        assertEquals(1, e.getSuppressed().length);
        assertTrue(e.getSuppressed()[0].getMessage().startsWith("Replica 0, which is the wrapper's network itself"));
        stuck.end.countDown();
        amp.close();
    }
}
