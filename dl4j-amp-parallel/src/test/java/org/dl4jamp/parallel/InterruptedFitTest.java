package org.dl4jamp.parallel;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntPredicate;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.deeplearning4j.parallelism.ParallelWrapper.TrainingMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.precision.AmpException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.dataset.DataSet;

/** The thread that calls {@code fit} is interrupted, by an executor's {@code shutdownNow()} for example. */
// In a thread of its own: DL4J's waiting can't be interrupted.
@Timeout(value = 20, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class InterruptedFitTest {
    private static final int ROUNDS = 10;

    private final List<DataSet> batches = Replicas.batches(2 * ROUNDS, 32, 1);

    private static ParallelWrapper wrapper(Model net, TrainingMode mode, int prefetch) {
        return new ParallelWrapper.Builder<>(net)
                .workers(2)
                .averagingFrequency(1)
                .prefetchBuffer(prefetch)
                .trainingMode(mode)
                .build();
    }

    /** Interrupts the thread that has called fit, once, in a step of replica 0 or of the other. */
    private TrainingListener interruptingIn(Model net, boolean source, IntPredicate step) {
        AtomicInteger steps = new AtomicInteger();
        Thread caller = Thread.currentThread();
        return new BaseTrainingListener() {
            @Override
            public void iterationDone(Model model, int iteration, int epoch) {
                if ((model == net) == source && step.test(steps.incrementAndGet())) {
                    caller.interrupt();
                }
            }
        };
    }

    @ParameterizedTest
    @CsvSource({
        "AVERAGING, 0, true", "AVERAGING, 0, false", "AVERAGING, 2, true",
        "SHARED_GRADIENTS, 0, true", "SHARED_GRADIENTS, 0, false", "SHARED_GRADIENTS, 2, true"
    })
    void aFitThatIsInterruptedEndsAndTheNextOneTrains(TrainingMode mode, int prefetch, boolean source) {
        Model net = Replicas.initialized(false);
        ParallelWrapper wrapper = wrapper(net, mode, prefetch);
        wrapper.setListeners(interruptingIn(net, source, step -> step == 3));
        try (AmpReplicas amp = AmpReplicas.installIn(wrapper, Replicas.half())) {
            RuntimeException e = assertThrows(RuntimeException.class, () -> wrapper.fit(Replicas.iterator(batches)));
            boolean interrupted = Thread.interrupted();
            if (prefetch == 0) {
                assertTrue(interrupted, "the caller sees that it was interrupted");
                assertEquals(AmpException.class, e.getClass());
                assertTrue(e.getMessage().contains("its thread was interrupted"), e::getMessage);
            }
            for (ReplicaState state : amp.states()) {
                assertEquals(3, state.stepsTaken() + state.stepsSkipped(), state::toString);
            }
            wrapper.fit(Replicas.iterator(batches));
            for (ReplicaState state : amp.states()) {
                assertEquals(3 + ROUNDS, state.stepsTaken() + state.stepsSkipped(), state::toString);
            }
        }
        assertTrue(MixedPrecision.of(net).isEmpty());
    }

    @Test
    void anInterruptBeforeTheFitEndsItBeforeItsFirstStep() {
        Model net = Replicas.initialized(false);
        float[] before = net.params().toFloatVector();
        ParallelWrapper wrapper = wrapper(net, TrainingMode.AVERAGING, 0);
        try (AmpReplicas amp = AmpReplicas.installIn(wrapper, Replicas.half())) {
            Thread.currentThread().interrupt();
            assertThrows(AmpException.class, () -> wrapper.fit(Replicas.iterator(batches)));
            assertTrue(Thread.interrupted());
            assertArrayEquals(before, net.params().toFloatVector());
            wrapper.fit(Replicas.iterator(batches));
            assertEquals(
                    ROUNDS,
                    amp.states().get(1).stepsTaken() + amp.states().get(1).stepsSkipped());
        }
    }

    @ParameterizedTest
    @EnumSource(value = TrainingMode.class, names = "CUSTOM", mode = EnumSource.Mode.EXCLUDE)
    void anInterruptInTheLastRoundLosesNothing(TrainingMode mode) {
        Model net = Replicas.initialized(false);
        ParallelWrapper wrapper = wrapper(net, mode, 0);
        wrapper.setListeners(interruptingIn(net, false, step -> step == ROUNDS));
        try (AmpReplicas amp = AmpReplicas.installIn(wrapper, Replicas.half())) {
            if (mode == TrainingMode.AVERAGING) {
                wrapper.fit(Replicas.iterator(batches));
            } else {
                assertThrows(AmpException.class, () -> wrapper.fit(Replicas.iterator(batches)));
            }
            assertTrue(Thread.interrupted(), "the caller sees that it was interrupted");
            for (ReplicaState state : amp.states()) {
                assertEquals(ROUNDS, state.stepsTaken() + state.stepsSkipped(), state::toString);
            }
            assertEquals(ROUNDS, wrapper.getIterationsCounter().get());
            wrapper.fit(Replicas.iterator(batches));
            assertFalse(Thread.interrupted());
            for (ReplicaState state : amp.states()) {
                assertEquals(2 * ROUNDS, state.stepsTaken() + state.stepsSkipped(), state::toString);
            }
        }
    }
}
