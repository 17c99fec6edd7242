package org.dl4jamp.dl4j;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.CenterLossOutputLayer;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.DepthwiseConvolution2D;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.PReLULayer;
import org.deeplearning4j.nn.conf.layers.SeparableConvolution2D;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.Networks;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** The gradients of single parameters, beside those that DL4J's layers return. */
class ParameterGradientsTest {
    private static MultiLayerNetwork images() {
        return Networks.init(Networks.builder(new Sgd(0.1))
                .list()
                .layer(new DepthwiseConvolution2D.Builder(3, 3)
                        .depthMultiplier(2)
                        .activation(Activation.TANH)
                        .build())
                .layer(new BatchNormalization())
                .layer(new SeparableConvolution2D.Builder(2, 2)
                        .nOut(4)
                        .activation(Activation.TANH)
                        .build())
                .layer(new PReLULayer.Builder().inputShape(4, 5, 5).build())
                .layer(Networks.convolution(2, 3))
                .layer(Networks.dense(5, Activation.TANH))
                .layer(new CenterLossOutputLayer.Builder(LossFunction.MCXENT)
                        .nOut(3)
                        .activation(Activation.SOFTMAX)
                        .build())
                .setInputType(InputType.convolutional(8, 8, 2))
                .build());
    }

    private static MultiLayerNetwork sequences() {
        return Networks.init(Networks.builder(new Sgd(0.1))
                .list()
                .layer(new Convolution1DLayer.Builder(1)
                        .nOut(4)
                        .activation(Activation.TANH)
                        .build())
                .layer(new Bidirectional(
                        Bidirectional.Mode.ADD, new LSTM.Builder().nOut(5).build()))
                .layer(new SimpleRnn.Builder().nOut(4).build())
                .layer(Networks.rnnSoftmax(3))
                .setInputType(InputType.recurrent(3, 6))
                .build());
    }

    static Stream<MultiLayerNetwork> networks() {
        return Stream.of(images(), sequences());
    }

    @ParameterizedTest
    @MethodSource("networks")
    void theyAreThoseThatTheLayersReturn(MultiLayerNetwork network) {
        boolean images = network.getLayer(0).conf().getLayer() instanceof DepthwiseConvolution2D;
        DataSet data = images ? Networks.images(4, 2, 8, 3) : Networks.sequences(4, 3, 3, 6);
        network.setInput(data.getFeatures());
        network.setLabels(data.getLabels());
        network.computeGradientAndScore();
        Map<String, INDArray> found = new TreeMap<>();
        for (int i = 0; i < network.getnLayers(); i++) {
            String prefix = i + "_";
            ParameterGradients.of(network.getLayer(i), network.params(), network.getFlattenedGradients())
                    .forEach((parameter, gradient) -> found.put(prefix + parameter, gradient));
        }
        Map<String, INDArray> returned = network.gradient().gradientForVariable();
        assertEquals(new TreeMap<>(returned).keySet(), found.keySet());
        returned.forEach((name, gradient) -> {
            assertEquals(
                    gradient.norm2Number().doubleValue(),
                    found.get(name).norm2Number().doubleValue(),
                    1e-6,
                    name);
            // They are the same memory, too.
            found.get(name).assign(7);
            assertEquals(7, gradient.meanNumber().doubleValue(), 1e-6, name);
        });
    }

    @Test
    void theyAreVectors() {
        MultiLayerNetwork network = images();
        network.initGradientsView();
        Map<String, INDArray> first =
                ParameterGradients.of(network.getLayer(0), network.params(), network.getFlattenedGradients());
        assertEquals(List.of("W", "b"), List.copyOf(first.keySet()));
        assertArrayEquals(new long[] {3 * 3 * 2 * 2}, first.get("W").shape());
    }
}
