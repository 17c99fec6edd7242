package org.dl4jamp.examples.feature;

import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.listeners.AmpListener;
import org.nd4j.linalg.learning.config.Adam;

/**
 * A listener attaches mixed precision when training starts. Without settings, {@code new AmpListener()}, it takes what
 * is best here.
 */
final class OneLine implements Example {
    @Override
    public void show(AmpConfig.Builder settings, Report report) {
        MultiLayerNetwork net = DigitsTask.dense(new Adam(2e-3));
        AmpListener listener = new AmpListener(settings.build());

        net.setListeners(listener);
        net.fit(DigitsTask.iterator(32), 5);

        MixedPrecision amp = listener.mixedPrecision().orElseThrow();
        report.say(amp.plan().toString());
        report.is("steps from the first on", amp.stepsTaken() + amp.stepsSkipped(), 43 * 5);
        report.atLeast("accuracy on images not trained on", DigitsTask.accuracy(net), 0.9);
    }
}
