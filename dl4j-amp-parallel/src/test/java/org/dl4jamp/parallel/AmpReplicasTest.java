package org.dl4jamp.parallel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.deeplearning4j.parallelism.ParallelWrapper.TrainingMode;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.dataset.DataSet;

@Timeout(300)
class AmpReplicasTest {
    private static final List<DataSet> TRAIN = Replicas.batches(40, 32, 1);

    @ParameterizedTest
    @CsvSource({"AVERAGING, false", "AVERAGING, true", "SHARED_GRADIENTS, false", "SHARED_GRADIENTS, true"})
    void everyReplicaTrainsInMixedPrecisionFromItsFirstStepOn(TrainingMode mode, boolean graph) throws Exception {
        Model net = Replicas.initialized(graph);
        try (ParallelWrapper wrapper = Replicas.wrapper(net, 2, mode);
                AmpReplicas amp = AmpReplicas.installIn(wrapper, Replicas.half())) {
            for (int fit = 1; fit <= 3; fit++) {
                wrapper.fit(Replicas.iterator(TRAIN));
                List<ReplicaState> states = amp.states();
                assertEquals(2, states.size());
                for (ReplicaState state : states) {
                    assertEquals(20L * fit, state.stepsTaken() + state.stepsSkipped(), state::toString);
                    assertTrue(state.stepsSkipped() > 0, state::toString);
                }
                System.out.println(states + " " + net.score());
            }
        }
    }
}
