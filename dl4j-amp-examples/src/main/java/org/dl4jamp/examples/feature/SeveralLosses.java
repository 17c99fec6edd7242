package org.dl4jamp.examples.feature;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.examples.digits.Digits;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/**
 * Two losses, for the digit and for the brightness of the image. Their sum has one scale and is minimized in one step.
 */
final class SeveralLosses implements Example {
    @Override
    public void show(AmpConfig.Builder settings, Report report) {
        ComputationGraph net = new ComputationGraph(new NeuralNetConfiguration.Builder()
                .seed(7)
                .updater(new Adam(2e-3))
                .graphBuilder()
                .addInputs("image")
                .setInputTypes(InputType.convolutional(Digits.SIDE, Digits.SIDE, 1))
                .addLayer(
                        "hidden",
                        new DenseLayer.Builder()
                                .nOut(128)
                                .activation(Activation.RELU)
                                .build(),
                        "image")
                .addLayer("digit", DigitsTask.softmax(), "hidden")
                .addLayer(
                        "brightness",
                        new OutputLayer.Builder(LossFunction.MSE)
                                .nOut(1)
                                .activation(Activation.IDENTITY)
                                .build(),
                        "hidden")
                .setOutputs("digit", "brightness")
                .build());
        net.init();

        MixedPrecision.enable(net, settings.build());
        for (int epoch = 0; epoch < 8; epoch++) {
            DigitsTask.batches(32).forEach(batch -> net.fit(withBrightness(batch)));
        }

        MultiDataSet others = withBrightness(DigitsTask.others());
        INDArray[] outputs = net.output(others.getFeatures(0));
        double right = outputs[0]
                .argMax(1)
                .eq(others.getLabels(0).argMax(1))
                .castTo(outputs[1].dataType())
                .meanNumber()
                .doubleValue();
        double error = outputs[1].sub(others.getLabels(1)).norm2Number().doubleValue()
                / Math.sqrt((double) others.getLabels(1).length());
        report.atLeast("accuracy on images not trained on", right, 0.9);
        report.atMost("error of their brightness, which is 0.2 to 0.5", error, 0.06);
    }

    private static MultiDataSet withBrightness(DataSet images) {
        INDArray brightness = images.getFeatures().mean(1, 2, 3).reshape(images.numExamples(), 1);
        return new MultiDataSet(new INDArray[] {images.getFeatures()}, new INDArray[] {images.getLabels(), brightness});
    }
}
