package org.dl4jamp.onednn;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.deeplearning4j.nn.conf.layers.FeedForwardLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SeparableConvolution2D;
import org.deeplearning4j.nn.conf.layers.ZeroPaddingLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** The gradient of a network's input is left out where DL4J drops it, and only there. */
class InputGradientTest {
    private static final AmpConfig FLOAT =
            AmpConfig.builder().precision(Precision.FLOAT).engine("onednn").build();

    private final INDArray features = gaussian(new Random(1), 1, 5, 6);
    private final INDArray labels = gaussian(new Random(2), 1, 5, 2);

    private static DenseLayer dense() {
        return new DenseLayer.Builder()
                .nIn(6)
                .nOut(4)
                .activation(Activation.TANH)
                .build();
    }

    private static OutputLayer output(int nIn) {
        return new OutputLayer.Builder(LossFunction.MSE)
                .nIn(nIn)
                .nOut(2)
                .activation(Activation.IDENTITY)
                .build();
    }

    private static MultiLayerNetwork network() {
        MultiLayerConfiguration configuration = new NeuralNetConfiguration.Builder()
                .seed(3)
                .updater(new Sgd(0.1))
                .list(dense(), output(4))
                .build();
        return Networks.init(configuration);
    }

    @Test
    void aListenerOfATrainingStepMayCalculateTheGradientOfAnInput() {
        MultiLayerNetwork trained = network();
        MultiLayerNetwork asked = network();
        INDArray expected =
                asked.calculateGradients(features, labels, null, null).getSecond();
        MixedPrecision.enable(trained, FLOAT);
        MixedPrecision.enable(asked, FLOAT);
        List<INDArray> actual = new ArrayList<>();
        trained.setListeners(new BaseTrainingListener() {
            @Override
            public void onBackwardPass(Model model) {
                actual.add(
                        asked.calculateGradients(features, labels, null, null).getSecond());
            }
        });
        trained.fit(features, labels);
        assertEquals(1, actual.size());
        assertArrayEquals(
                expected.reshape(30).toFloatVector(), actual.get(0).reshape(30).toFloatVector(), 1e-5f);
    }

    /** Records the gradients that a layer returns. */
    private static List<INDArray> recorded(MultiLayerNetwork network, int layer) {
        List<INDArray> gradients = new ArrayList<>();
        record(network, layer, gradients);
        return gradients;
    }

    private static void record(MultiLayerNetwork network, int layer, List<INDArray> gradients) {
        Layer first = network.getLayers()[layer];
        network.getLayers()[layer] = (Layer) Proxy.newProxyInstance(
                Layer.class.getClassLoader(), new Class<?>[] {Layer.class}, (proxy, method, arguments) -> {
                    Object result = method.invoke(first, arguments);
                    if (method.getName().equals("backpropGradient")) {
                        INDArray gradient = (INDArray) ((Pair<?, ?>) result).getSecond();
                        gradients.add(gradient == null ? null : gradient.dup().detach());
                    }
                    return result;
                });
    }

    @Test
    void aTrainingStepGoesWithoutIt() {
        MultiLayerNetwork own = network();
        MultiLayerNetwork network = own.clone();
        try (MixedPrecision amp = MixedPrecision.enable(network, FLOAT)) {
            Layer first = network.getLayers()[0];
            List<INDArray> gradients = recorded(network, 0);
            network.fit(features, labels);
            assertEquals(1, gradients.size());
            assertNull(gradients.get(0));
            network.getLayers()[0] = first;
            assertEquals(1, amp.stepsTaken());
        }
        own.fit(features, labels);
        Agreement.assertWithin("parameters", own.params(), network.params(), 1e-5);
    }

    /** Networks whose layer 1 is the first with parameters. */
    static List<Named<MultiLayerNetwork>> networksWhoseSecondLayerIsTheFirstToTrain() {
        return List.of(
                Named.of("convolution", padded(new ConvolutionLayer.Builder(3, 3))),
                Named.of("separable convolution", padded(new SeparableConvolution2D.Builder(3, 3))),
                Named.of("dense layer", padded(new DenseLayer.Builder())),
                Named.of("LSTM", recurrent(new LSTM.Builder())),
                Named.of("simple RNN", recurrent(new SimpleRnn.Builder())));
    }

    private static MultiLayerNetwork padded(FeedForwardLayer.Builder<?> layer) {
        return network(InputType.convolutional(4, 5, 2), new ZeroPaddingLayer.Builder(1, 1).build(), layer, output(4));
    }

    private static MultiLayerNetwork recurrent(FeedForwardLayer.Builder<?> layer) {
        return network(
                InputType.recurrent(2, 4), new DropoutLayer.Builder(1.0).build(), layer, Networks.rnnRegression(2));
    }

    private static MultiLayerNetwork network(
            InputType inputs,
            org.deeplearning4j.nn.conf.layers.Layer first,
            FeedForwardLayer.Builder<?> second,
            org.deeplearning4j.nn.conf.layers.Layer output) {
        return Networks.init(new NeuralNetConfiguration.Builder()
                .seed(3)
                .updater(new Sgd(0.1))
                .activation(Activation.TANH)
                .list(first, second.nOut(4).build(), output)
                .setInputType(inputs)
                .build());
    }

    @ParameterizedTest
    @MethodSource("networksWhoseSecondLayerIsTheFirstToTrain")
    void behindLayersWithoutParametersATrainingStepHandsOnZeros(MultiLayerNetwork own) {
        boolean sequences = own.getOutputLayer().conf().getLayer() instanceof RnnOutputLayer;
        INDArray input = sequences ? gaussian(new Random(1), 1, 3, 2, 4) : gaussian(new Random(1), 1, 3, 2, 4, 5);
        INDArray target = sequences ? gaussian(new Random(2), 1, 3, 2, 4) : gaussian(new Random(2), 1, 3, 2);
        MultiLayerNetwork network = own.clone();
        try (MixedPrecision amp = MixedPrecision.enable(network, FLOAT)) {
            Layer first = network.getLayers()[0];
            Layer second = network.getLayers()[1];
            List<INDArray> unread = recorded(network, 0);
            List<INDArray> gradients = recorded(network, 1);
            network.fit(input, target);
            network.getLayers()[0] = first;
            network.getLayers()[1] = second;
            own.fit(input, target);
            assertEquals(1, amp.stepsTaken());
            assertNull(unread.get(0));
            Agreement.assertWithin("parameters", own.params(), network.params(), 1e-5);
            assertEquals(0, gradients.get(0).amaxNumber().doubleValue());

            network.setParams(own.params());
            record(network, 1, gradients);
            Agreement.assertWithin(
                    "gradient of the input",
                    own.calculateGradients(input, target, null, null).getSecond(),
                    network.calculateGradients(input, target, null, null).getSecond(),
                    1e-5);
            assertArrayEquals(gradients.get(1).shape(), gradients.get(0).shape());
            network.getLayers()[1] = second;
        }
    }

    @Test
    void behindALayerWithParametersItsNeeded() {
        MultiLayerNetwork own =
                network(InputType.feedForward(6), dense(), new DenseLayer.Builder().dropOut(1.0), output(4));
        MultiLayerNetwork network = own.clone();
        try (MixedPrecision amp = MixedPrecision.enable(network, FLOAT)) {
            Layer second = network.getLayers()[1];
            List<INDArray> gradients = recorded(network, 1);
            network.fit(features, labels);
            assertNotEquals(0, gradients.get(0).amaxNumber().doubleValue());
            assertEquals(1, amp.stepsTaken());
            network.getLayers()[1] = second;
        }
    }

    @Test
    void whoAsksForItGetsIt() {
        MultiLayerNetwork own = network();
        MultiLayerNetwork network = own.clone();
        INDArray expected = own.calculateGradients(features, labels, null, null).getSecond();
        try (MixedPrecision amp = MixedPrecision.enable(network, FLOAT)) {
            network.fit(features, labels);
            network.setParams(own.params());
            INDArray actual =
                    network.calculateGradients(features, labels, null, null).getSecond();
            assertNotNull(actual);
            Agreement.assertWithin("gradient of the input", expected, actual, 1e-5);
            assertEquals(Precision.FLOAT, amp.precision());
        }
    }

    @Test
    void anInputOfSeveralLayersKeepsIt() {
        ComputationGraph own = Networks.init(new NeuralNetConfiguration.Builder()
                .seed(3)
                .updater(new Sgd(0.1))
                .graphBuilder()
                .addInputs("in")
                .addLayer("a", dense(), "in")
                .addLayer("b", dense(), "in")
                .addVertex("merge", new MergeVertex(), "a", "b")
                .addLayer("out", output(8), "merge")
                .setOutputs("out")
                .build());
        ComputationGraph network = own.clone();
        DataSet batch = new DataSet(features, labels);
        try (MixedPrecision amp = MixedPrecision.enable(network, FLOAT)) {
            own.fit(batch);
            network.fit(batch);
            assertEquals(1, amp.stepsTaken());
        }
        Agreement.assertWithin("parameters", own.params(), network.params(), 1e-5);
    }
}
