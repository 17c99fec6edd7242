package org.dl4jamp.examples.feature;

import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.transferlearning.FineTuneConfiguration;
import org.deeplearning4j.nn.transferlearning.TransferLearning;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.adapter.SingletonDataSetIterator;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/**
 * A network that reads digits becomes one that separates odd from even ones. Both are trained in mixed precision;
 * frozen layers stay bit for bit what they are.
 */
final class Transfer implements Example {
    @Override
    public void show(AmpConfig.Builder settings, Report report) {
        MultiLayerNetwork digits = DigitsTask.dense(new Adam(2e-3));
        MixedPrecision.enable(digits, settings.build());
        digits.fit(DigitsTask.iterator(32), 5);

        MultiLayerNetwork parity = new TransferLearning.Builder(digits)
                .fineTuneConfiguration(new FineTuneConfiguration.Builder()
                        .updater(new Adam(5e-3))
                        .seed(7)
                        .build())
                .setFeatureExtractor(1)
                .removeOutputLayer()
                .addLayer(new OutputLayer.Builder(LossFunction.MCXENT)
                        .nIn(64)
                        .nOut(2)
                        .activation(Activation.SOFTMAX)
                        .build())
                .build();
        INDArray frozen = parity.getLayer(0).params().dup();
        MixedPrecision.enable(parity, settings.build());
        for (int epoch = 0; epoch < 8; epoch++) {
            DigitsTask.batches(32).forEach(batch -> parity.fit(oddOrEven(batch)));
        }

        double moved = parity.getLayer(0).params().sub(frozen).amaxNumber().doubleValue();
        report.is("how far a frozen layer's weights went", moved, 0);
        report.atLeast(
                "accuracy for odd and even",
                parity.evaluate(new SingletonDataSetIterator(oddOrEven(DigitsTask.others())))
                        .accuracy(),
                0.9);
    }

    private static DataSet oddOrEven(DataSet digits) {
        INDArray labels = digits.getLabels();
        INDArray parity = Nd4j.zeros(DataType.FLOAT, labels.size(0), 2);
        for (int digit = 0; digit < labels.size(1); digit++) {
            parity.getColumn(digit % 2).addi(labels.getColumn(digit));
        }
        return new DataSet(digits.getFeatures(), parity);
    }
}
