package org.dl4jamp.examples.feature;

import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.scale.DynamicLossScaler;
import org.dl4jamp.scale.SharedLossScale;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.Nesterovs;

/**
 * Two networks with an optimizer each and one loss scale: each skips its own steps, and the scale is updated for both
 * at the end of an iteration.
 */
final class SharedScale implements Example {
    @Override
    public void show(AmpConfig.Builder settings, Report report) {
        SharedLossScale shared = new SharedLossScale(
                DynamicLossScaler.builder().initialScale(0x1p22).build());
        AmpConfig config = settings.sharedLossScale(shared).build();
        MultiLayerNetwork one = DigitsTask.dense(new Adam(2e-3));
        MultiLayerNetwork another = DigitsTask.convolutional(new Nesterovs(0.02, 0.9));
        MixedPrecision ofOne = MixedPrecision.enable(one, config);
        MixedPrecision ofAnother = MixedPrecision.enable(another, config);

        for (int epoch = 0; epoch < 2; epoch++) {
            for (DataSet batch : DigitsTask.batches(32)) {
                one.fit(batch);
                another.fit(batch);
                shared.update();
            }
        }

        report.say(ofOne.stepsSkipped() + " and " + ofAnother.stepsSkipped() + " steps skipped; loss scale "
                + ofOne.lossScale());
        report.is("difference of their scales", ofOne.lossScale() - ofAnother.lossScale(), 0);
        report.is("steps of the first", ofOne.stepsTaken() + ofOne.stepsSkipped(), 86);
        report.atLeast("accuracy of the first", DigitsTask.accuracy(one), 0.85);
        report.atLeast("accuracy of the other", DigitsTask.accuracy(another), 0.85);
    }
}
