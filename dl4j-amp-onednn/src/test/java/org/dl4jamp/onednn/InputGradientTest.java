package org.dl4jamp.onednn;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.AmpConfig;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Precision;
import org.junit.jupiter.api.Test;
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
        MultiLayerNetwork network = new MultiLayerNetwork(configuration);
        network.init();
        return network;
    }

    /** Writes down the gradients that a network's first layer hands back. */
    private static List<INDArray> recorded(MultiLayerNetwork network) {
        List<INDArray> gradients = new ArrayList<>();
        Layer first = network.getLayers()[0];
        network.getLayers()[0] = (Layer) Proxy.newProxyInstance(
                Layer.class.getClassLoader(), new Class<?>[] {Layer.class}, (proxy, method, arguments) -> {
                    Object result = method.invoke(first, arguments);
                    if (method.getName().equals("backpropGradient")) {
                        gradients.add((INDArray) ((Pair<?, ?>) result).getSecond());
                    }
                    return result;
                });
        return gradients;
    }

    @Test
    void aTrainingStepGoesWithoutIt() {
        MultiLayerNetwork own = network();
        MultiLayerNetwork network = own.clone();
        try (MixedPrecision amp = MixedPrecision.enable(network, FLOAT)) {
            Layer first = network.getLayers()[0];
            List<INDArray> gradients = recorded(network);
            network.fit(features, labels);
            assertEquals(1, gradients.size());
            assertNull(gradients.get(0));
            network.getLayers()[0] = first;
            assertEquals(1, amp.stepsTaken());
        }
        own.fit(features, labels);
        Agreement.assertWithin("parameters", own.params(), network.params(), 1e-5);
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
        ComputationGraph own = new ComputationGraph(new NeuralNetConfiguration.Builder()
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
        own.init();
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
