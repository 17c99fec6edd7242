package org.dl4jamp.parallel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.deeplearning4j.parallelism.ParallelWrapper.TrainingMode;
import org.dl4jamp.config.AmpConfig;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.evaluation.classification.Evaluation;
import org.nd4j.linalg.dataset.DataSet;

/** Replicas in mixed precision learn what those of stock DL4J learn. */
// In a thread of its own: DL4J's waiting can't be interrupted.
@Tag("long")
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LearningTest {
    private final List<DataSet> train = Replicas.batches(60, 32, 1);
    private final DataSet test = DataSet.merge(Replicas.batches(1, 2000, 2));

    @ParameterizedTest
    @CsvSource({"AVERAGING, 2, 1", "AVERAGING, 4, 2", "SHARED_GRADIENTS, 2, 3"})
    void accuracyIsThatOfFp32(TrainingMode mode, int workers, int epochs) throws Exception {
        double full = accuracy(mode, workers, epochs, Optional.empty());
        assertTrue(full > 0.6, "FP32 recognizes " + full);
        for (AmpConfig config : List.of(Replicas.half(), Replicas.oneDnn())) {
            assertEquals(full, accuracy(mode, workers, epochs, Optional.of(config)), 0.04, config::toString);
        }
    }

    private double accuracy(TrainingMode mode, int workers, int epochs, Optional<AmpConfig> config) throws Exception {
        MultiLayerNetwork net = (MultiLayerNetwork) Replicas.initialized(false);
        try (ParallelWrapper wrapper = Replicas.wrapper(net, workers, mode)) {
            config.ifPresent(settings -> AmpReplicas.installIn(wrapper, settings));
            for (int epoch = 0; epoch < epochs; epoch++) {
                // DL4J alone waits for ever in the second fit with shared gradients, unless the network has its updater
                // before.
                net.getUpdater();
                wrapper.fit(Replicas.iterator(train));
            }
        }
        Evaluation evaluation = new Evaluation();
        evaluation.eval(test.getLabels(), net.output(test.getFeatures()));
        return evaluation.accuracy();
    }
}
