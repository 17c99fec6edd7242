package org.dl4jamp.examples.feature;

import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Pause;
import org.dl4jamp.config.AmpConfig;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.Adam;

/** In a pause DL4J's own layers compute, with the same weights and the same optimizer. */
final class Pausing implements Example {
    @Override
    public void show(AmpConfig.Builder settings, Report report) {
        MultiLayerNetwork net = DigitsTask.dense(new Adam(2e-3));
        INDArray images = DigitsTask.others().getFeatures();

        MixedPrecision amp = MixedPrecision.enable(net, settings.build());
        net.fit(DigitsTask.iterator(32), 5);
        INDArray mixed = net.output(images);
        INDArray full;
        try (Pause fp32 = amp.pause()) {
            full = net.output(images);
            net.fit(DigitsTask.iterator(32), 1);
        }
        net.fit(DigitsTask.iterator(32), 1);

        MultiLayerNetwork stock = net.clone();
        try (Pause fp32 = amp.pause()) {
            report.is("difference to stock DL4J in a pause", largest(net.output(images), stock.output(images)), 0);
        }
        report.atMost(
                "difference of probabilities between " + amp.precision() + " and FP32", largest(mixed, full), 0.1);
        report.is("steps, those in the pause included", amp.stepsTaken() + amp.stepsSkipped(), 7 * 43);
        report.atLeast("accuracy on images not trained on", DigitsTask.accuracy(net), 0.9);
    }

    private static double largest(INDArray one, INDArray another) {
        return one.sub(another).amaxNumber().doubleValue();
    }
}
