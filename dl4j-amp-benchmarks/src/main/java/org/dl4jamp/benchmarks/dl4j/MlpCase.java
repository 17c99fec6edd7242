package org.dl4jamp.benchmarks.dl4j;

import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.weights.WeightInit;
import org.dl4jamp.benchmarks.side.Schedule;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/**
 * Two hidden dense layers of the same size with ReLU, and softmax.
 *
 * @param inputs numbers of an example
 * @param hidden units of a hidden layer
 * @param classes to tell apart
 * @param minibatch examples
 */
public record MlpCase(int inputs, int hidden, int classes, int minibatch) implements BenchmarkCase {
    @Override
    public String name() {
        return "mlp";
    }

    @Override
    public String description() {
        return "dense layers " + inputs + "-" + hidden + "-" + hidden + "-" + classes + ", batch " + minibatch
                + ", Adam";
    }

    @Override
    public NeuralNetwork network() {
        MultiLayerConfiguration configuration = new NeuralNetConfiguration.Builder()
                .seed(20260102)
                .weightInit(WeightInit.RELU)
                .updater(new Adam(1e-4))
                .list()
                .layer(hiddenLayer())
                .layer(hiddenLayer())
                .layer(new OutputLayer.Builder(LossFunction.MCXENT)
                        .nOut(classes)
                        .activation(Activation.SOFTMAX)
                        .weightInit(WeightInit.XAVIER)
                        .build())
                .setInputType(InputType.feedForward(inputs))
                .build();
        MultiLayerNetwork network = new MultiLayerNetwork(configuration);
        network.init();
        return network;
    }

    private DenseLayer hiddenLayer() {
        return new DenseLayer.Builder().nOut(hidden).activation(Activation.RELU).build();
    }

    @Override
    public DataSet batch() {
        RandomBatch random = new RandomBatch(minibatch);
        return new DataSet(random.features(inputs), random.oneHot(classes));
    }

    @Override
    public Schedule schedule() {
        return Schedule.ofSteps(4, 4);
    }
}
