package org.dl4jamp.examples.feature;

import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Sgd;

/**
 * Batches of 16 accumulated to batches of 64, for networks with too large batches for the memory. In FP32 both steps
 * are the same up to the order of summation.
 */
final class Accumulation implements Example {
    @Override
    public void show(AmpConfig.Builder settings, Report report) {
        MultiLayerNetwork net = DigitsTask.dense(new Sgd(0.1));
        MultiLayerNetwork large = net.clone();
        INDArray before = net.params().dup();

        MixedPrecision amp = MixedPrecision.enable(net, settings.accumulate(4).build());
        for (DataSet batch : DigitsTask.batches(16).subList(0, 80)) {
            net.fit(batch);
        }

        for (DataSet batch : DigitsTask.batches(64).subList(0, 20)) {
            large.fit(batch);
        }
        INDArray learned = large.params().sub(before);
        double apart = net.params().sub(large.params()).norm2Number().doubleValue()
                / learned.norm2Number().doubleValue();
        report.say("80 calls of fit in " + amp.precision() + ", and 20 of four times the size in DL4J's FP32");
        report.is("steps", amp.stepsTaken(), 20);
        report.atMost("how far apart, as a part of what was learned", apart, 0.1);
    }
}
