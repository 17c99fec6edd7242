package org.dl4jamp.examples.feature;

import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.config.GradientPenalty;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Sgd;

/** A penalty on the norm of the gradient, without double backward: it leads to where the loss is less steep. */
final class Penalty implements Example {
    private final DataSet images = DigitsTask.batches(256).get(0);

    @Override
    public void show(AmpConfig.Builder settings, Report report) {
        double without = steepness(settings.build(), report);
        double with = steepness(
                settings.gradientPenalty(GradientPenalty.of(0.3, 0.05)).build(), report);
        report.say("norm of the gradient without penalty " + without + ", with penalty " + with);
        report.atMost("steepness with penalty, as a part of that without", with / without, 0.98);
    }

    private double steepness(AmpConfig config, Report report) {
        MultiLayerNetwork net = DigitsTask.dense(new Sgd(0.2));
        train(net, 40);
        // The penalty's gradient is of one length wherever the loss is steep: long steps would go back and forth.
        net.setLearningRate(0.03);
        try (MixedPrecision amp = MixedPrecision.enable(net, config)) {
            train(net, 60);
            report.is("steps of 60", amp.stepsTaken() + amp.stepsSkipped(), 60);
        }
        INDArray gradient = net.calculateGradients(images.getFeatures(), images.getLabels(), null, null)
                .getFirst()
                .gradient();
        return gradient.norm2Number().doubleValue() / images.numExamples();
    }

    private void train(MultiLayerNetwork net, int steps) {
        for (int i = 0; i < steps; i++) {
            net.fit(images);
        }
    }
}
