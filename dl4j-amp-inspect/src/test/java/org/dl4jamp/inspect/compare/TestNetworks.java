package org.dl4jamp.inspect.compare;

import java.util.List;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.weightnoise.DropConnect;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Small networks, in which mixed precision works, or goes wrong in a known place. */
public final class TestNetworks {
    private TestNetworks() {}

    private static NeuralNetConfiguration.Builder builder() {
        return new NeuralNetConfiguration.Builder().seed(7).updater(new Adam(1e-2));
    }

    private static DenseLayer dense(int out, Activation activation) {
        return new DenseLayer.Builder().nOut(out).activation(activation).build();
    }

    private static OutputLayer softmax(int classes) {
        return new OutputLayer.Builder(LossFunction.MCXENT)
                .nOut(classes)
                .activation(Activation.SOFTMAX)
                .build();
    }

    private static OutputLayer regression() {
        return new OutputLayer.Builder(LossFunction.MSE)
                .nOut(1)
                .activation(Activation.IDENTITY)
                .build();
    }

    /** 20 features, two hidden layers, 3 classes. */
    public static MultiLayerNetwork healthy() {
        MultiLayerNetwork network = new MultiLayerNetwork(builder()
                .list()
                .layer(dense(32, Activation.RELU))
                .layer(dense(32, Activation.TANH))
                .layer(softmax(3))
                .setInputType(InputType.feedForward(20))
                .build());
        network.init();
        return network;
    }

    /** {@link #healthy} with dropout and weight noise. */
    public static MultiLayerNetwork withDropout() {
        MultiLayerNetwork network = new MultiLayerNetwork(builder()
                .dropOut(0.5)
                .weightNoise(new DropConnect(0.5))
                .list()
                .layer(dense(32, Activation.RELU))
                .layer(dense(32, Activation.TANH))
                .layer(softmax(3))
                .setInputType(InputType.feedForward(20))
                .build());
        network.init();
        return network;
    }

    /** The first layer's outputs are around 10^6, and the second brings them down to 1. */
    public static MultiLayerNetwork overflowing() {
        MultiLayerNetwork network = new MultiLayerNetwork(builder()
                .list()
                .layer(dense(16, Activation.IDENTITY))
                .layer(dense(16, Activation.TANH))
                .layer(dense(16, Activation.TANH))
                .layer(softmax(3))
                .setInputType(InputType.feedForward(20))
                .build());
        network.init();
        network.getParam("0_W").muli(1e6);
        network.getParam("1_W").muli(1e-6);
        return network;
    }

    /**
     * Two branches: the loss of one is so large that the loss scale has to be small, and the gradients of the other are
     * so small that they vanish then.
     */
    public static ComputationGraph underflowing() {
        ComputationGraph graph = new ComputationGraph(builder()
                .graphBuilder()
                .addInputs("in")
                .setInputTypes(InputType.feedForward(4))
                .addLayer("large_1", dense(16, Activation.TANH), "in")
                .addLayer("large_2", dense(16, Activation.TANH), "large_1")
                .addLayer("large", regression(), "large_2")
                .addLayer("small_1", dense(16, Activation.TANH), "in")
                .addLayer("small_2", dense(16, Activation.TANH), "small_1")
                .addLayer("small", regression(), "small_2")
                .setOutputs("large", "small")
                .build());
        graph.init();
        graph.getParam("large_W").muli(3e3);
        graph.getParam("small_W").muli(1e-5);
        return graph;
    }

    /** Batches for {@link #underflowing}. */
    public static List<MultiDataSet> unequalTargets() {
        Nd4j.getRandom().setSeed(3);
        INDArray features = Nd4j.randn(DataType.FLOAT, 32, 4);
        INDArray sums = features.sum(true, 1);
        return List.of(new MultiDataSet(new INDArray[] {features}, new INDArray[] {sums.mul(600), sums.mul(2e-6)}));
    }

    /** Batch normalization of two examples makes almost the same of any input: a sign. */
    public static MultiLayerNetwork illConditioned() {
        NeuralNetConfiguration.ListBuilder layers = builder().list();
        for (int i = 0; i < 8; i++) {
            layers.layer(dense(24, Activation.IDENTITY))
                    .layer(new BatchNormalization.Builder().build())
                    .layer(new ActivationLayer(Activation.RELU));
        }
        MultiLayerNetwork network = new MultiLayerNetwork(
                layers.layer(softmax(3)).setInputType(InputType.feedForward(20)).build());
        network.init();
        return network;
    }

    public static List<MultiDataSet> vectors(int examples, int features, int classes) {
        Nd4j.getRandom().setSeed(11);
        INDArray labels = Nd4j.zeros(DataType.FLOAT, examples, classes);
        for (int i = 0; i < examples; i++) {
            labels.putScalar(i, i % classes, 1);
        }
        return List.of(new MultiDataSet(Nd4j.randn(DataType.FLOAT, examples, features), labels));
    }
}
