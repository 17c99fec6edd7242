package org.dl4jamp.benchmarks.cases;

import java.util.List;
import java.util.stream.Collectors;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration.ListBuilder;
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
 * Dense layers with ReLU, and softmax.
 *
 * @param name of the case
 * @param sizes numbers of an example, units of each hidden layer, number of classes
 * @param minibatch examples
 * @param schedule of a repetition
 */
public record MlpCase(String name, List<Integer> sizes, int minibatch, Schedule schedule) implements BenchmarkCase {
    @Override
    public String description() {
        return "dense layers " + sizes.stream().map(String::valueOf).collect(Collectors.joining("-")) + ", batch "
                + minibatch;
    }

    @Override
    public String updater() {
        return "Adam";
    }

    @Override
    public BenchmarkCase ofBatch(int examples) {
        return new MlpCase(name, sizes, examples, schedule);
    }

    @Override
    public NeuralNetwork network() {
        ListBuilder layers = new NeuralNetConfiguration.Builder()
                .seed(20260102)
                .weightInit(WeightInit.RELU)
                .updater(new Adam(1e-4))
                .list();
        for (int hidden : sizes.subList(1, sizes.size() - 1)) {
            layers.layer(new DenseLayer.Builder()
                    .nOut(hidden)
                    .activation(Activation.RELU)
                    .build());
        }
        MultiLayerConfiguration configuration = layers.layer(new OutputLayer.Builder(LossFunction.MCXENT)
                        .nOut(classes())
                        .activation(Activation.SOFTMAX)
                        .weightInit(WeightInit.XAVIER)
                        .build())
                .setInputType(InputType.feedForward(inputs()))
                .build();
        MultiLayerNetwork network = new MultiLayerNetwork(configuration);
        network.init();
        return network;
    }

    private int inputs() {
        return sizes.get(0);
    }

    private int classes() {
        return sizes.get(sizes.size() - 1);
    }

    @Override
    public DataSet batch() {
        RandomBatch random = new RandomBatch(minibatch);
        return new DataSet(random.features(inputs()), random.oneHot(classes()));
    }
}
