package org.dl4jamp.benchmarks.cases;

import java.util.List;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.zoo.model.TextGenerationLSTM;
import org.dl4jamp.benchmarks.side.Schedule;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;

/**
 * The TextGenerationLSTM of DL4J's zoo, every layer as it is there: two LSTM layers with peepholes that guess the next
 * character. Adam replaces the zoo's RmsProp, of which PyTorch has no fused updater. The zoo's L2 term (0.001) is left
 * out: it would be in DL4J's loss alone.
 *
 * @param steps characters of a sequence; the zoo's backpropagation through time is truncated after 50
 * @param minibatch sequences
 * @param characters of the alphabet
 * @param schedule of a repetition
 */
public record TextGenerationCase(int steps, int minibatch, int characters, Schedule schedule) implements BenchmarkCase {
    @Override
    public String name() {
        return "textgen";
    }

    @Override
    public String description() {
        return "TextGenerationLSTM of DL4J's zoo, " + steps + " steps, batch " + minibatch + ", " + characters
                + " characters";
    }

    @Override
    public String updater() {
        return "Adam";
    }

    @Override
    public BenchmarkCase ofBatch(int examples) {
        return new TextGenerationCase(steps, examples, characters, schedule);
    }

    @Override
    public NeuralNetwork network() {
        MultiLayerConfiguration configuration = TextGenerationLSTM.builder()
                .totalUniqueCharacters(characters)
                .inputShape(new int[] {steps, characters})
                .updater(new Adam(1e-3))
                .build()
                .conf();
        configuration.getConfs().forEach(each -> ((BaseLayer) each.getLayer()).setRegularization(List.of()));
        MultiLayerNetwork network = new MultiLayerNetwork(configuration);
        network.init();
        return network;
    }

    @Override
    public DataSet batch() {
        return new RandomBatch(minibatch).nextCharacters(steps, characters);
    }
}
