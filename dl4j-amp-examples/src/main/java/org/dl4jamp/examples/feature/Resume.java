package org.dl4jamp.examples.feature;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.dl4jamp.AmpModelSerializer;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.nd4j.linalg.learning.config.Adam;

/**
 * The file is a plain DL4J model with one entry more: loss scale, counters and settings, so training goes on as if
 * nothing had happened.
 */
final class Resume implements Example {
    @Override
    public void show(AmpConfig.Builder settings, Report report) throws IOException {
        MultiLayerNetwork net = DigitsTask.dense(new Adam(2e-3));
        MixedPrecision amp = MixedPrecision.enable(net, settings.build());
        net.fit(DigitsTask.iterator(32), 3);

        Path folder = Files.createTempDirectory("amp-example");
        File file = folder.resolve("digits.zip").toFile();
        AmpModelSerializer.writeModel(net, file, true);
        MultiLayerNetwork restored = AmpModelSerializer.restoreMultiLayerNetwork(file);
        MultiLayerNetwork plain = ModelSerializer.restoreMultiLayerNetwork(file);
        Files.delete(file.toPath());
        Files.delete(folder);

        net.fit(DigitsTask.iterator(32), 3);
        restored.fit(DigitsTask.iterator(32), 3);

        double apart = net.params().sub(restored.params()).amaxNumber().doubleValue();
        report.is("largest difference of a weight", apart, 0);
        MixedPrecision ofRestored = MixedPrecision.of(restored).orElseThrow();
        report.is("steps, those before the save included", ofRestored.stepsTaken() + ofRestored.stepsSkipped(), 258);
        report.is("difference of loss scales", amp.lossScale() - ofRestored.lossScale(), 0);
        report.atLeast("accuracy on images not trained on", DigitsTask.accuracy(restored), 0.9);
        report.atLeast("accuracy at the save, in plain DL4J", DigitsTask.accuracy(plain), 0.8);
    }
}
