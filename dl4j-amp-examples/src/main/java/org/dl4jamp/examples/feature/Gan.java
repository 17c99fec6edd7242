package org.dl4jamp.examples.feature;

import java.util.List;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** A generator learns points from a discriminator's gradient, which is unscaled: only {@code fit} scales. */
final class Gan implements Example {
    private static final int BATCH = 64;
    private static final LayerWorkspaceMgr NONE = LayerWorkspaceMgr.noWorkspaces();

    @Override
    public void show(AmpConfig.Builder settings, Report report) {
        Nd4j.getRandom().setSeed(5);
        MultiLayerNetwork generator = network(4, dense(2, Activation.IDENTITY));
        OutputLayer.Builder realOrNot = new OutputLayer.Builder(LossFunction.XENT);
        MultiLayerNetwork discriminator =
                network(2, realOrNot.nOut(1).activation(Activation.SIGMOID).build());
        MixedPrecision.enable(generator, settings.build());
        MixedPrecision.enable(discriminator, settings.build());
        INDArray ones = Nd4j.ones(DataType.FLOAT, BATCH, 1);
        INDArray labels = Nd4j.vstack(ones, Nd4j.zeros(DataType.FLOAT, BATCH, 1));
        report.atLeast("distance of the generator's points from the real ones, before", distance(generator), 2);
        for (int i = 0; i < 250; i++) {
            INDArray noise = Nd4j.randn(DataType.FLOAT, BATCH, 4);
            discriminator.fit(new DataSet(Nd4j.vstack(real(), generator.output(noise)), labels));
            generator.setInput(noise);
            List<INDArray> activations = generator.feedForward(true, false);
            INDArray made = activations.get(activations.size() - 1).castTo(DataType.FLOAT);
            INDArray errors =
                    discriminator.calculateGradients(made, ones, null, null).getSecond();
            Gradient gradient = generator.backpropGradient(errors, NONE).getFirst();
            generator.getUpdater().update(generator, gradient, i, 0, BATCH, NONE);
            generator.params().subi(gradient.gradient());
        }
        report.atMost("after", distance(generator), 1);
    }

    private static Layer dense(int out, Activation function) {
        return new DenseLayer.Builder().nOut(out).activation(function).build();
    }

    private static INDArray real() {
        return Nd4j.randn(DataType.FLOAT, BATCH, 2).muli(0.3).addiRowVector(Nd4j.createFromArray(2f, -1f));
    }

    private static double distance(MultiLayerNetwork generator) {
        INDArray noise = Nd4j.randn(DataType.FLOAT, 1000, 4);
        return generator.output(noise).mean(0).distance2(Nd4j.createFromArray(2f, -1f));
    }

    private static MultiLayerNetwork network(int in, Layer last) {
        MultiLayerNetwork net = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .seed(7)
                .updater(new Adam(2e-3, 0.5, 0.999, 1e-8))
                .list()
                .layer(dense(32, Activation.TANH))
                .layer(last)
                .setInputType(InputType.feedForward(in))
                .build());
        net.init();
        return net;
    }
}
