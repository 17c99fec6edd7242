package org.dl4jamp.examples.feature;

import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.Adam;

/**
 * A trained network that only infers: its weights are rounded once, and batch normalization is folded into the
 * convolution. Its mode computes outputs without DL4J's loop over layers.
 */
final class Inference implements Example {
    @Override
    public void show(AmpConfig.Builder settings, Report report) {
        MultiLayerNetwork net = DigitsTask.convolutional(new Adam(2e-3));
        net.fit(DigitsTask.iterator(32), 4);
        INDArray images = DigitsTask.others().getFeatures();
        INDArray expected = net.output(images);

        INDArray probabilities;
        double accuracy;
        boolean refused = false;
        try (InferenceMode mode = MixedPrecision.inference(net, settings.build())) {
            report.say(mode.plan().toString());
            probabilities = mode.output(images);
            accuracy = DigitsTask.accuracy(net);
            try {
                net.fit(DigitsTask.others());
            } catch (AmpException e) {
                refused = true;
                report.say("Training is refused: " + e.getMessage());
            }
        }

        report.atMost(
                "largest difference of a probability",
                probabilities.sub(expected).amaxNumber().doubleValue(),
                0.05);
        report.atLeast("accuracy on images not trained on", accuracy, 0.9);
        report.is("training refused", refused ? 1 : 0, 1);
    }
}
