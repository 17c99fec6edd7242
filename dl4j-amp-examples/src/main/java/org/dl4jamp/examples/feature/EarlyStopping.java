package org.dl4jamp.examples.feature;

import org.deeplearning4j.earlystopping.EarlyStoppingConfiguration;
import org.deeplearning4j.earlystopping.EarlyStoppingResult;
import org.deeplearning4j.earlystopping.saver.InMemoryModelSaver;
import org.deeplearning4j.earlystopping.scorecalc.DataSetLossCalculator;
import org.deeplearning4j.earlystopping.termination.MaxEpochsTerminationCondition;
import org.deeplearning4j.earlystopping.termination.ScoreImprovementEpochTerminationCondition;
import org.deeplearning4j.earlystopping.trainer.EarlyStoppingTrainer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.nd4j.linalg.dataset.adapter.SingletonDataSetIterator;
import org.nd4j.linalg.learning.config.Adam;

/** DL4J's trainer on an enabled network. The best model that it keeps is a plain one. */
final class EarlyStopping implements Example {
    @Override
    public void show(AmpConfig.Builder settings, Report report) {
        MultiLayerNetwork net = DigitsTask.dense(new Adam(4e-3));
        EarlyStoppingConfiguration<MultiLayerNetwork> stopping = new EarlyStoppingConfiguration.Builder<
                        MultiLayerNetwork>()
                .modelSaver(new InMemoryModelSaver<>())
                .scoreCalculator(new DataSetLossCalculator(new SingletonDataSetIterator(DigitsTask.others()), true))
                .epochTerminationConditions(
                        new MaxEpochsTerminationCondition(30), new ScoreImprovementEpochTerminationCondition(3))
                .build();

        MixedPrecision amp = MixedPrecision.enable(net, settings.build());
        EarlyStoppingResult<MultiLayerNetwork> result =
                new EarlyStoppingTrainer(stopping, net, DigitsTask.iterator(32)).fit();

        MultiLayerNetwork best = result.getBestModel();
        report.say(result.getTerminationDetails() + ", after " + result.getTotalEpochs() + " epochs");
        report.is(
                "steps of the epochs, by the network",
                amp.stepsTaken() + amp.stepsSkipped(),
                43L * result.getTotalEpochs());
        report.is(
                "whether the best model is a plain one", MixedPrecision.of(best).isPresent() ? 0 : 1, 1);
        double score = result.getScoreVsEpoch().get(result.getBestModelEpoch());
        report.atMost(
                "difference of its loss in FP32 to its score",
                Math.abs(best.score(DigitsTask.others()) - score),
                0.005);
        report.atLeast("accuracy on the images that it stopped by", DigitsTask.accuracy(best), 0.9);
    }
}
