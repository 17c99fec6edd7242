package org.dl4jamp.benchmarks.cases;

import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration.ListBuilder;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.weights.WeightInit;
import org.dl4jamp.benchmarks.side.Schedule;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/**
 * LSTM layers that guess the next character of a text.
 *
 * @param name of the case
 * @param layers how many
 * @param hidden units of a layer
 * @param steps characters of a sequence
 * @param minibatch sequences
 * @param characters of the alphabet
 * @param schedule of a repetition
 */
public record LstmCase(String name, int layers, int hidden, int steps, int minibatch, int characters, Schedule schedule)
        implements BenchmarkCase {
    @Override
    public String description() {
        return (layers == 1 ? "an LSTM layer of " : layers + " LSTM layers of ") + hidden + ", " + steps
                + " steps, batch " + minibatch + ", " + characters + " characters";
    }

    @Override
    public String updater() {
        return "Adam";
    }

    @Override
    public BenchmarkCase ofBatch(int examples) {
        return new LstmCase(name, layers, hidden, steps, examples, characters, schedule);
    }

    @Override
    public NeuralNetwork network() {
        ListBuilder list = new NeuralNetConfiguration.Builder()
                .seed(20260103)
                .weightInit(WeightInit.XAVIER)
                .updater(new Adam(1e-3))
                .list();
        for (int layer = 0; layer < layers; layer++) {
            list.layer(
                    new LSTM.Builder().nOut(hidden).activation(Activation.TANH).build());
        }
        MultiLayerConfiguration configuration = list.layer(new RnnOutputLayer.Builder(LossFunction.MCXENT)
                        .nOut(characters)
                        .activation(Activation.SOFTMAX)
                        .build())
                .setInputType(InputType.recurrent(characters))
                .build();
        MultiLayerNetwork network = new MultiLayerNetwork(configuration);
        network.init();
        return network;
    }

    @Override
    public DataSet batch() {
        return new RandomBatch(minibatch).nextCharacters(steps, characters);
    }
}
