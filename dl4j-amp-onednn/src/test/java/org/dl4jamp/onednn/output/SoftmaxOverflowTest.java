package org.dl4jamp.onednn.output;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Softmax of sums that overflow within a network, behind finite features: no number of such a row is plausible. */
class SoftmaxOverflowTest {
    private static final AmpConfig CONFIG =
            AmpConfig.builder().engine("onednn").precision(Precision.FLOAT).build();

    /** Sums of infinite numbers of both signs, of NaN, and finite ones. */
    private final INDArray features = Nd4j.createFromArray(
            new float[][] {{0x1p43f, 0x1p43f, 1}, {1, 1, 0x1p43f}, {1, 0x1p46f, 1}, {0.1f, 0.2f, 0.3f}});

    private final INDArray labels = Nd4j.createFromArray(new float[][] {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 0}});

    private static Stream<Named<Layer[]>> heads() {
        return Stream.of(Named.of("output layer", new Layer[] {Networks.softmax(3)}), Named.of("loss", new Layer[] {
            Networks.dense(3, Activation.IDENTITY),
            new LossLayer.Builder(LossFunction.MCXENT)
                    .activation(Activation.SOFTMAX)
                    .build()
        }));
    }

    private static MultiLayerNetwork network(Layer[] head) {
        var list = Networks.builder(new Sgd(0.1)).list().layer(Networks.dense(3, Activation.CUBE));
        for (Layer layer : head) {
            list.layer(layer);
        }
        MultiLayerNetwork network =
                Networks.init(list.setInputType(InputType.feedForward(3)).build());
        network.getLayer(0).getParam("W").assign(Nd4j.eye(3));
        network.getLayer(1)
                .getParam("W")
                .assign(Nd4j.createFromArray(new float[][] {{1, 1, 1}, {-1, 1, -1}, {0.5f, -1, 2}}));
        return network;
    }

    private void assertAsStock(MultiLayerNetwork stock, MultiLayerNetwork network) {
        assertArrayEquals(
                stock.output(features).data().asFloat(),
                network.output(features).data().asFloat(),
                1e-6f);
        assertEquals(Double.NaN, network.score(new DataSet(features, labels)));
    }

    @ParameterizedTest
    @MethodSource("heads")
    void probabilitiesAreThoseOfDl4j(Layer... head) {
        MultiLayerNetwork network = network(head);
        MultiLayerNetwork stock = network.clone();
        try (InferenceMode mode = MixedPrecision.inference(network, CONFIG)) {
            assertAsStock(stock, network);
        }
        try (MixedPrecision amp = MixedPrecision.enable(network, CONFIG)) {
            assertAsStock(stock, network);
            network.fit(new DataSet(features, labels));
            assertEquals(1, amp.stepsSkipped());
        }
        assertEquals(stock.params(), network.params());
    }
}
