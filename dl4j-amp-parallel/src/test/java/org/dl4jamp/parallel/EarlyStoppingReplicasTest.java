package org.dl4jamp.parallel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.deeplearning4j.earlystopping.EarlyStoppingConfiguration;
import org.deeplearning4j.earlystopping.EarlyStoppingResult;
import org.deeplearning4j.earlystopping.saver.InMemoryModelSaver;
import org.deeplearning4j.earlystopping.scorecalc.DataSetLossCalculator;
import org.deeplearning4j.earlystopping.termination.InvalidScoreIterationTerminationCondition;
import org.deeplearning4j.earlystopping.termination.MaxEpochsTerminationCondition;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.parallelism.EarlyStoppingParallelTrainer;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.dataset.DataSet;

/** DL4J's early stopping trainer of several replicas, which builds a wrapper for itself. */
// In a thread of its own: DL4J's waiting can't be interrupted.
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EarlyStoppingReplicasTest {
    private static final int EPOCHS = 3;

    private final List<DataSet> batches = Replicas.batches(20, 32, 1);

    private EarlyStoppingParallelTrainer<Model> trainer(Model net) {
        EarlyStoppingConfiguration<Model> configuration = new EarlyStoppingConfiguration.Builder<Model>()
                .epochTerminationConditions(new MaxEpochsTerminationCondition(EPOCHS))
                .iterationTerminationConditions(new InvalidScoreIterationTerminationCondition())
                .scoreCalculator(new DataSetLossCalculator(Replicas.iterator(batches), true))
                .evaluateEveryNEpochs(1)
                .modelSaver(new InMemoryModelSaver<>())
                .build();
        return new EarlyStoppingParallelTrainer<>(configuration, net, Replicas.iterator(batches), null, 2, 2, 1);
    }

    /** The precision of each network at each of its iterations. */
    private static Map<String, Integer> precisions(Model net) {
        Map<String, Integer> precisions = new ConcurrentHashMap<>();
        net.setListeners(List.of(new BaseTrainingListener() {
            @Override
            public void iterationDone(Model model, int iteration, int epoch) {
                String precision = MixedPrecision.of(model)
                        .map(amp -> amp.precision().toString())
                        .orElse("none");
                precisions.merge((model == net ? "source " : "other ") + precision, 1, Integer::sum);
            }
        }));
        return precisions;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void allReplicasAreInMixedPrecisionAndScoresAreThoseOfFp32(boolean graph) {
        Model plain = Replicas.initialized(graph);
        Map<String, Integer> without = precisions(plain);
        EarlyStoppingResult<Model> expected = trainer(plain).fit();

        Model net = Replicas.initialized(graph);
        Map<String, Integer> with = precisions(net);
        EarlyStoppingParallelTrainer<Model> trainer = trainer(net);
        EarlyStoppingResult<Model> actual;
        try (AmpReplicas amp = AmpReplicas.installIn(AmpReplicas.wrapperOf(trainer), Replicas.half())) {
            actual = trainer.fit();
            for (ReplicaState state : amp.states()) {
                assertEquals(Precision.HALF, state.precision());
                assertEquals(10L * expected.getTotalEpochs(), state.stepsTaken() + state.stepsSkipped());
            }
        }
        int steps = 10 * expected.getTotalEpochs();
        assertEquals(Map.of("source none", steps, "other none", steps), without, "DL4J's replicas are in FP32");
        assertEquals(Map.of("source HALF", steps, "other HALF", steps), with);
        assertEquals(expected.getTerminationReason(), actual.getTerminationReason());
        assertEquals(expected.getTotalEpochs(), actual.getTotalEpochs());
        assertEquals(
                expected.getScoreVsEpoch().keySet(), actual.getScoreVsEpoch().keySet());
        assertTrue(MixedPrecision.of(actual.getBestModel()).isEmpty(), "a plain model was saved");
    }

    @Test
    void aTrainerWhoseTrainingIsOverHasNoWrapper() {
        EarlyStoppingParallelTrainer<Model> trainer = trainer(Replicas.initialized(false));
        trainer.fit();
        AmpException e = assertThrows(AmpException.class, () -> AmpReplicas.wrapperOf(trainer));
        assertTrue(e.getMessage().contains("its training is over"), e::getMessage);
        AmpException ofNull = assertThrows(AmpException.class, () -> AmpReplicas.wrapperOf(null));
        assertTrue(ofNull.getMessage().contains("trainer: null"), ofNull::getMessage);
    }
}
