package org.dl4jamp.life;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.deeplearning4j.earlystopping.EarlyStoppingConfiguration;
import org.deeplearning4j.earlystopping.EarlyStoppingModelSaver;
import org.deeplearning4j.earlystopping.EarlyStoppingResult;
import org.deeplearning4j.earlystopping.EarlyStoppingResult.TerminationReason;
import org.deeplearning4j.earlystopping.saver.InMemoryModelSaver;
import org.deeplearning4j.earlystopping.saver.LocalFileGraphSaver;
import org.deeplearning4j.earlystopping.saver.LocalFileModelSaver;
import org.deeplearning4j.earlystopping.scorecalc.DataSetLossCalculator;
import org.deeplearning4j.earlystopping.termination.BestScoreEpochTerminationCondition;
import org.deeplearning4j.earlystopping.termination.EpochTerminationCondition;
import org.deeplearning4j.earlystopping.termination.InvalidScoreIterationTerminationCondition;
import org.deeplearning4j.earlystopping.termination.MaxEpochsTerminationCondition;
import org.deeplearning4j.earlystopping.trainer.EarlyStoppingGraphTrainer;
import org.deeplearning4j.earlystopping.trainer.EarlyStoppingTrainer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.adapter.SingletonDataSetIterator;

/** DL4J's early stopping trainers and their savers. */
class EarlyStoppingTest {
    @TempDir
    private Path folder;

    private static final EpochTerminationCondition SIX_EPOCHS = new MaxEpochsTerminationCondition(6);

    @SuppressWarnings("unchecked")
    private static <T extends Model> EarlyStoppingResult<T> train(
            T network, DataSet data, EarlyStoppingModelSaver<T> saver, EpochTerminationCondition end) {
        EarlyStoppingConfiguration<T> configuration = new EarlyStoppingConfiguration.Builder<T>()
                .epochTerminationConditions(end)
                .iterationTerminationConditions(new InvalidScoreIterationTerminationCondition())
                .scoreCalculator(new DataSetLossCalculator(Kind.iterator(), true))
                .evaluateEveryNEpochs(1)
                .modelSaver(saver)
                .saveLastModel(true)
                .build();
        SingletonDataSetIterator iterator = new SingletonDataSetIterator(data);
        return network instanceof MultiLayerNetwork layers
                ? (EarlyStoppingResult<T>) new EarlyStoppingTrainer(
                                (EarlyStoppingConfiguration<MultiLayerNetwork>) configuration, layers, iterator)
                        .fit()
                : (EarlyStoppingResult<T>) new EarlyStoppingGraphTrainer(
                                (EarlyStoppingConfiguration<ComputationGraph>) configuration,
                                (ComputationGraph) network,
                                iterator)
                        .fit();
    }

    @SuppressWarnings("unchecked")
    private EarlyStoppingModelSaver<Model> files(Kind kind) {
        EarlyStoppingModelSaver<? extends Model> saver = kind == Kind.GRAPH
                ? new LocalFileGraphSaver(folder.toString())
                : new LocalFileModelSaver(folder.toFile());
        return (EarlyStoppingModelSaver<Model>) saver;
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.life.Kind#everywhere")
    void scoresEpochByEpochAreThoseOfFp32(Kind kind, Side side) {
        EarlyStoppingResult<Model> expected =
                train(kind.network(), Kind.data(), new InMemoryModelSaver<>(), SIX_EPOCHS);
        Model mixed = kind.network();
        MixedPrecision amp = side.enable(mixed);
        EarlyStoppingResult<Model> actual = train(mixed, Kind.data(), new InMemoryModelSaver<>(), SIX_EPOCHS);
        assertEquals(TerminationReason.EpochTerminationCondition, actual.getTerminationReason());
        assertEquals(expected.getTotalEpochs(), actual.getTotalEpochs());
        assertEquals(expected.getBestModelEpoch(), actual.getBestModelEpoch());
        expected.getScoreVsEpoch()
                .forEach((epoch, score) -> assertEquals(
                        score, actual.getScoreVsEpoch().get(epoch), side.ofScore(score), "score of epoch " + epoch));
        assertEquals(6, amp.stepsTaken());
        INDArray features = Kind.data().getFeatures();
        side.assertClose(
                Kind.output(expected.getBestModel(), features),
                Kind.output(actual.getBestModel(), features),
                "output of the best model");
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.life.Kind#everywhere")
    void aScoreThatIsGoodEnoughEndsTrainingInTheEpochOfFp32(Kind kind, Side side) {
        List<Double> scores = List.copyOf(train(kind.network(), Kind.data(), new InMemoryModelSaver<>(), SIX_EPOCHS)
                .getScoreVsEpoch()
                .values());
        assertTrue(scores.get(3) < scores.get(2), "training lowers the score");
        EpochTerminationCondition between = new BestScoreEpochTerminationCondition((scores.get(2) + scores.get(3)) / 2);
        Model mixed = kind.network();
        side.enable(mixed);
        EarlyStoppingResult<Model> result = train(mixed, Kind.data(), new InMemoryModelSaver<>(), between);
        assertEquals(4, result.getTotalEpochs());
        assertEquals(3, result.getBestModelEpoch());
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.life.Kind#everywhere")
    void saversKeepPlainModelsOfThatMoment(Kind kind, Side side) throws IOException {
        Model mixed = kind.network();
        side.enable(mixed);
        EarlyStoppingModelSaver<Model> saver = files(kind);
        Model best = train(mixed, Kind.data(), saver, SIX_EPOCHS).getBestModel();
        assertFalse(Side.isEnabled(best));
        assertTrue(Side.isEnabled(mixed));
        assertEquals(mixed.params(), best.params());
        assertEquals(mixed.params(), saver.getLatestModel().params());
        Kind.fit(mixed, Kind.data());
        assertFalse(mixed.params().equals(best.params()));

        EarlyStoppingModelSaver<Model> memory = new InMemoryModelSaver<>();
        Model kept = train(mixed, Kind.data(), memory, SIX_EPOCHS).getBestModel();
        assertFalse(Side.isEnabled(kept));
        assertEquals(mixed.params(), kept.params());
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.life.Kind#everywhere")
    void aBatchWithNanEndsTrainingAsInFp32AndHasChangedNothing(Kind kind, Side side) throws IOException {
        DataSet broken = Kind.data();
        broken.getFeatures().putScalar(3, 5, Double.NaN);
        Model fp32 = kind.network();
        Model mixed = kind.network();
        MixedPrecision amp = side.enable(mixed);
        INDArray before = mixed.params().dup();
        EarlyStoppingModelSaver<Model> saver = new InMemoryModelSaver<>();
        for (Model network : List.of(fp32, mixed)) {
            saver.saveBestModel(network, 0);
            EarlyStoppingResult<Model> result = train(network, broken, saver, SIX_EPOCHS);
            assertEquals(TerminationReason.IterationTerminationCondition, result.getTerminationReason());
        }
        assertEquals(1, amp.stepsSkipped());
        assertEquals(before, mixed.params());
    }
}
