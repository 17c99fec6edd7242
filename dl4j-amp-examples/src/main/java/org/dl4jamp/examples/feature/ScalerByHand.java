package org.dl4jamp.examples.feature;

import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.scale.DynamicLossScaler;
import org.dl4jamp.scale.LossScaler;
import org.dl4jamp.scale.LossScalerState;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;

/**
 * Without a search for the scale the first steps overflow in HALF, and each halves the scale. In other precisions no
 * gradient is too large. A scale can be set, too.
 */
final class ScalerByHand implements Example {
    @Override
    public void show(AmpConfig.Builder settings, Report report) {
        MultiLayerNetwork net = DigitsTask.dense(new Adam(2e-3));
        MixedPrecision amp = MixedPrecision.enable(
                net,
                settings.lossScaler(DynamicLossScaler.builder()
                                .initialScale(0x1p24)
                                .growthInterval(1000)
                                .build())
                        .scaleSearch(0)
                        .build());
        double first = amp.lossScale();
        for (int epoch = 0; epoch < 6; epoch++) {
            for (DataSet batch : DigitsTask.batches(32)) {
                net.fit(batch);
            }
        }
        double found = amp.lossScale();
        report.say(amp.stepsSkipped() + " steps skipped; the scale went from " + first + " to " + found);
        report.is(
                "scale, as a part of what the skipped steps leave",
                found / (first * Math.pow(0.5, (double) amp.stepsSkipped())),
                1);

        LossScaler scaler = amp.lossScaler();
        LossScalerState now = scaler.state();
        scaler.restore(new LossScalerState(now.kind(), amp.plan().anyHalf() ? 256 : 1, 0, now.hysteresisTracker()));
        net.fit(DigitsTask.batches(32).get(0));
        report.is("scale that was set", amp.lossScale(), amp.plan().anyHalf() ? 256 : 1);
        report.atLeast("accuracy on images not trained on", DigitsTask.accuracy(net), 0.9);
    }
}
