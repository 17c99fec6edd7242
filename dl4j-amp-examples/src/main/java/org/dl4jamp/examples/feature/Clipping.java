package org.dl4jamp.examples.feature;

import java.util.List;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Sgd;

/**
 * One batch is black for white, and a hundred times too wrong. Without a limit its gradient would throw the weights far
 * away.
 */
final class Clipping implements Example {
    private static final double RATE = 0.5;

    @Override
    public void show(AmpConfig.Builder settings, Report report) {
        MultiLayerNetwork net = DigitsTask.dense(new Sgd(RATE));
        MixedPrecision amp =
                MixedPrecision.enable(net, settings.clipGradientNorm(1).build());

        List<DataSet> batches = DigitsTask.batches(32);
        for (int epoch = 0; epoch < 6; epoch++) {
            batches.forEach(net::fit);
        }
        INDArray before = net.params().dup();
        DataSet wrong = batches.get(0).copy();
        wrong.getFeatures().muli(-100);
        net.fit(wrong);

        double norm = amp.gradientNorm().orElseThrow();
        double moved = net.params().sub(before).norm2Number().doubleValue();
        report.atLeast("norm of the wrong batch's gradient, before clipping", norm, 2);
        report.atMost("how far the weights went, learning rate times 1", moved, RATE * 1.001);
        report.atLeast("accuracy on images not trained on", DigitsTask.accuracy(net), 0.8);
    }
}
