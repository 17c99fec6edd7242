package org.dl4jamp.onednn.twin;

import static org.dl4jamp.onednn.Layers.gaussian;

import java.util.Random;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/**
 * To freeze an activation layer, which has no parameters, changes nothing. In stock DL4J it does: the frozen layer
 * overwrites its input, of which the backward pass takes the derivative.
 */
class FrozenActivationTest {
    private static MultiLayerNetwork network(Layer activation) {
        return Networks.init(new NeuralNetConfiguration.Builder()
                .seed(1)
                .updater(new Sgd(0.5))
                .list()
                .layer(new DenseLayer.Builder()
                        .nIn(4)
                        .nOut(5)
                        .activation(Activation.IDENTITY)
                        .build())
                .layer(activation)
                .layer(new OutputLayer.Builder()
                        .nIn(5)
                        .nOut(3)
                        .activation(Activation.SOFTMAX)
                        .build())
                .build());
    }

    private static Layer activation(Activation function) {
        return new ActivationLayer.Builder().activation(function).build();
    }

    @ParameterizedTest
    @EnumSource(
            value = Activation.class,
            names = {"SOFTPLUS", "TANH", "SIGMOID", "SWISH"})
    void gradientsPassItAsTheyPassALayerThatIsNotFrozen(Activation function) {
        MultiLayerNetwork stock = network(activation(function));
        MultiLayerNetwork network = network(new FrozenLayerWithBackprop(activation(function)));
        INDArray features = gaussian(new Random(1), 1, 6, 4);
        INDArray labels = Nd4j.zeros(6, 3);
        for (int i = 0; i < 6; i++) {
            labels.putScalar(i, i % 3, 1);
        }
        AmpConfig config =
                AmpConfig.builder().precision(Precision.FLOAT).engine("onednn").build();
        try (MixedPrecision amp = MixedPrecision.enable(network, config)) {
            network.fit(features, labels);
        }
        stock.fit(features, labels);
        Agreement.assertWithin("parameters", stock.params(), network.params(), 1e-6);
    }
}
