package org.dl4jamp.onednn;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.Random;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration.ListBuilder;
import org.deeplearning4j.nn.conf.dropout.IDropout;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/**
 * A user's own dropout counts as in DL4J and can be changed while training runs: the engine calls the network's own
 * object.
 */
class UsersDropoutTest {
    /** Multiplies by a number that may be changed from outside. */
    static final class Fading implements IDropout {
        private static final long serialVersionUID = 1L;

        private double factor = 0.5;
        private int forward;
        private int backward;
        private double gradients;

        @Override
        public INDArray applyDropout(
                INDArray input, INDArray result, int iteration, int epoch, LayerWorkspaceMgr workspaceMgr) {
            forward++;
            return input.muli(factor, result);
        }

        @Override
        public INDArray backprop(INDArray epsilon, INDArray next, int iteration, int epoch) {
            backward++;
            gradients += epsilon.norm1Number().doubleValue();
            return epsilon.muli(factor, next);
        }

        @Override
        public void clear() {}

        @Override
        public IDropout clone() {
            Fading clone = new Fading();
            clone.factor = factor;
            return clone;
        }
    }

    static Stream<Layer> layers() {
        return Stream.of(
                new DenseLayer.Builder()
                        .nIn(6)
                        .nOut(6)
                        .activation(Activation.TANH)
                        .dropOut(new Fading())
                        .build(),
                new DropoutLayer(new Fading()));
    }

    /** The layer's position in the network. */
    private enum Place {
        FIRST,
        SECOND,
        BEHIND_ONE_WITHOUT_PARAMETERS
    }

    static Stream<Arguments> cases() {
        return Stream.of("onednn", "nd4j").flatMap(engine -> layers().flatMap(
                        layer -> Stream.of(Place.values()).map(place -> Arguments.of(engine, layer, place))));
    }

    private static MultiLayerNetwork network(Layer layer, Place place) {
        ListBuilder list = new NeuralNetConfiguration.Builder()
                .seed(5)
                .updater(new Sgd(0.1))
                .list();
        switch (place) {
            case FIRST -> {}
            case SECOND -> list.layer(dense());
            case BEHIND_ONE_WITHOUT_PARAMETERS -> list.layer(new ActivationLayer(Activation.TANH));
        }
        return Networks.init(list.layer(layer.clone())
                .layer(dense())
                .layer(new OutputLayer.Builder(LossFunction.MSE)
                        .nIn(6)
                        .nOut(2)
                        .activation(Activation.IDENTITY)
                        .build())
                .build());
    }

    private static DenseLayer dense() {
        return new DenseLayer.Builder()
                .nIn(6)
                .nOut(6)
                .activation(Activation.TANH)
                .build();
    }

    private static Fading dropout(MultiLayerNetwork network) {
        return network.getLayerWiseConfigurations().getConfs().stream()
                .map(conf -> conf.getLayer().getIDropout())
                .filter(Fading.class::isInstance)
                .map(Fading.class::cast)
                .findFirst()
                .orElseThrow();
    }

    @ParameterizedTest
    @MethodSource("cases")
    void isAskedAsOftenAndHeardAsInDl4j(String engine, Layer layer, Place place) {
        MultiLayerNetwork own = network(layer, place);
        MultiLayerNetwork mixed = network(layer, place);
        DataSet data = new DataSet(gaussian(new Random(1), 1, 5, 6), Nd4j.ones(DataType.FLOAT, 5, 2));
        Fading expected = dropout(own);
        Fading actual = dropout(mixed);
        AmpConfig config =
                AmpConfig.builder().precision(Precision.FLOAT).engine(engine).build();
        try (MixedPrecision amp = MixedPrecision.enable(mixed, config)) {
            assertSame(actual, dropout(mixed));
            for (int step = 0; step < 3; step++) {
                own.fit(data);
                mixed.fit(data);
                expected.factor -= 0.1;
                actual.factor -= 0.1;
            }
        }
        assertEquals(3, expected.forward);
        assertEquals(expected.forward, actual.forward, "calls in forward passes");
        assertEquals(expected.backward, actual.backward, "calls in backward passes");
        assertEquals(expected.gradients, actual.gradients, 1e-5 * expected.gradients, "gradients in backward passes");
        Agreement.assertWithin("parameters", own.params(), mixed.params(), 1e-5);
    }
}
