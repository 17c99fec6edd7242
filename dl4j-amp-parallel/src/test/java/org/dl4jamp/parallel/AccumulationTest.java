package org.dl4jamp.parallel;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.deeplearning4j.parallelism.ParallelWrapper.TrainingMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.DynamicLossScaler;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;

/** Replicas whose steps are made of several of their batches. */
// In a thread of its own: DL4J's waiting can't be interrupted.
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class AccumulationTest {
    private static final List<DataSet> TRAIN = Replicas.batches(20, 32, 1);

    /** With a loss scale so high that the first groups are skipped. */
    private static AmpConfig collecting(int microBatches) {
        return AmpConfig.builder()
                .precision(Precision.HALF)
                .engine("nd4j")
                .lossScaler(DynamicLossScaler.builder().initialScale(0x1p22).build())
                .accumulate(microBatches)
                .build();
    }

    private static ParallelWrapper wrapper(Model model, TrainingMode mode, int averagingFrequency) {
        return new ParallelWrapper.Builder<>(model)
                .workers(2)
                .averagingFrequency(averagingFrequency)
                .prefetchBuffer(2)
                .trainingMode(mode)
                .build();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void averagingTheGroupsOfReplicasIsWhatItIsByHand(boolean graph) throws Exception {
        Model net = Replicas.initialized(graph);
        Model first = Replicas.initialized(graph);
        Model second = Replicas.initialized(graph);
        try (ParallelWrapper wrapper = wrapper(net, TrainingMode.AVERAGING, 2);
                AmpReplicas amp = AmpReplicas.installIn(wrapper, collecting(2));
                MixedPrecision ofFirst = Enabling.enable(first, Optional.of(collecting(2)));
                MixedPrecision ofSecond = Enabling.enable(second, Optional.of(collecting(2)))) {
            wrapper.fit(Replicas.iterator(TRAIN));
            for (int i = 0; i < TRAIN.size(); i += 4) {
                Replicas.fit(first, TRAIN.get(i));
                Replicas.fit(second, TRAIN.get(i + 1));
                Replicas.fit(first, TRAIN.get(i + 2));
                Replicas.fit(second, TRAIN.get(i + 3));
                average(first.params(), second.params());
                average(Replicas.updaterState(first), Replicas.updaterState(second));
            }
            assertArrayEquals(first.params().toFloatVector(), net.params().toFloatVector(), 1e-6f);
            assertTrue(ofFirst.stepsTaken() > 0, "some groups count");
            assertEquals(ofFirst.stepsTaken(), amp.states().get(0).stepsTaken());
            assertEquals(ofSecond.stepsTaken(), amp.states().get(1).stepsTaken());
            assertEquals(5, ofFirst.stepsTaken() + ofFirst.stepsSkipped());
        }
    }

    private static void average(INDArray one, INDArray other) {
        one.addi(other).muli(0.5);
        other.assign(one);
    }

    @ParameterizedTest
    @CsvSource({"AVERAGING, false", "AVERAGING, true", "SHARED_GRADIENTS, false", "SHARED_GRADIENTS, true"})
    void microBatchesThatAFitLeavesWaitForTheNext(TrainingMode mode, boolean graph) throws Exception {
        Model net = Replicas.initialized(graph);
        try (ParallelWrapper wrapper = wrapper(net, mode, 2);
                AmpReplicas amp = AmpReplicas.installIn(wrapper, collecting(2))) {
            wrapper.fit(Replicas.iterator(TRAIN.subList(0, 6)));
            assertSteps(1, 1, amp);
            wrapper.fit(Replicas.iterator(TRAIN.subList(6, 12)));
            assertSteps(3, 0, amp);
        }
    }

    private static void assertSteps(long steps, int waiting, AmpReplicas amp) {
        assertEquals(2, amp.states().size());
        for (ReplicaState each : amp.states()) {
            assertEquals(steps, each.stepsTaken() + each.stepsSkipped(), each::toString);
            assertEquals(
                    waiting,
                    each.state().waiting().map(group -> group.microBatches()).orElse(0),
                    each::toString);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void replicasShareNothingBeforeTheirGroupsAreComplete(boolean graph) throws Exception {
        Model net = Replicas.initialized(graph);
        String weights = graph ? "dense_1_W" : "0_W";
        float[] before = net.getParam(weights).ravel().toFloatVector();
        AmpConfig config = AmpConfig.builder()
                .precision(Precision.HALF)
                .engine("nd4j")
                .accumulate(11)
                .build();
        try (ParallelWrapper wrapper = wrapper(net, TrainingMode.SHARED_GRADIENTS, 1);
                AmpReplicas amp = AmpReplicas.installIn(wrapper, config)) {
            wrapper.fit(Replicas.iterator(TRAIN));
            assertArrayEquals(before, net.getParam(weights).ravel().toFloatVector());
            assertSteps(0, 10, amp);
            wrapper.fit(Replicas.iterator(TRAIN.subList(0, 2)));
            assertSteps(1, 0, amp);
            assertNotEquals(0, amp.states().get(0).stepsTaken(), "the step counts");
            assertTrue(distance(before, net.getParam(weights).ravel().toFloatVector()) > 0, "the step moves weights");
        }
    }

    private static double distance(float[] one, float[] other) {
        double sum = 0;
        for (int i = 0; i < one.length; i++) {
            sum += Math.abs(one[i] - other[i]);
        }
        return sum;
    }
}
