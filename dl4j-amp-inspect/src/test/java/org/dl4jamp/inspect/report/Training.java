package org.dl4jamp.inspect.report;

import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.DynamicLossScaler;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/** A small network, and a listener that keeps its figures iteration by iteration. */
final class Training extends BaseTrainingListener {
    /** A batch of 4 examples. */
    static final DataSet BATCH = new DataSet(
            Nd4j.linspace(DataType.FLOAT, -1, 0.1, 16).reshape(4, 4),
            Nd4j.eye(2).castTo(DataType.FLOAT).repeat(0, 2));

    final List<Double> losses = new ArrayList<>();
    final List<Integer> skippedIn = new ArrayList<>();
    private long skipped;

    /** Returns a network of 4 features and 2 classes. */
    static MultiLayerNetwork network(String... hidden) {
        NeuralNetConfiguration.ListBuilder list = new NeuralNetConfiguration.Builder()
                .seed(1)
                .updater(new Sgd(0.5))
                .list();
        for (String name : hidden) {
            list.layer(new DenseLayer.Builder()
                    .name(name)
                    .nOut(5)
                    .activation(Activation.TANH)
                    .build());
        }
        list.layer(new OutputLayer.Builder()
                .name("output")
                .nOut(2)
                .activation(Activation.SOFTMAX)
                .build());
        MultiLayerNetwork network = new MultiLayerNetwork(
                list.setInputType(InputType.feedForward(4)).build());
        network.init();
        return network;
    }

    /** Settings whose loss scale overflows in the first steps, and again whenever it has grown. */
    static AmpConfig.Builder overflowing() {
        return AmpConfig.builder()
                .precision(Precision.HALF)
                .engine("nd4j")
                .scaleSearch(0)
                .lossScaler(DynamicLossScaler.builder()
                        .initialScale(1 << 24)
                        .growthInterval(7)
                        .build());
    }

    @Override
    public void iterationDone(Model model, int iteration, int epoch) {
        losses.add(model.score());
        MixedPrecision.of(model).ifPresent(amp -> {
            if (amp.stepsSkipped() > skipped) {
                skippedIn.add(iteration);
            }
            skipped = amp.stepsSkipped();
        });
    }

    /** Trains some iterations, each by a call of {@code fit}. */
    static void train(MultiLayerNetwork network, int iterations) {
        for (int i = 0; i < iterations; i++) {
            network.fit(BATCH);
        }
    }
}
