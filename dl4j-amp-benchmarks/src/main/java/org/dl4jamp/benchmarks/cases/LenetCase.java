package org.dl4jamp.benchmarks.cases;

import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.zoo.model.LeNet;
import org.dl4jamp.benchmarks.side.Schedule;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;

/**
 * The LeNet of DL4J's zoo, on images of 28×28 pixels: layers so small that what isn't arithmetic decides. Adam in place
 * of the zoo's AdaDelta, which PyTorch's C++ interface doesn't have.
 *
 * @param name of the case
 * @param minibatch images
 * @param learningRate Adam's: the fewer the images, the sooner they are learned by heart
 * @param schedule of a repetition
 */
public record LenetCase(String name, int minibatch, double learningRate, Schedule schedule) implements BenchmarkCase {
    private static final int CLASSES = 10;
    private static final int SIDE = 28;

    @Override
    public String description() {
        return "LeNet of DL4J's zoo, batch " + minibatch;
    }

    @Override
    public String updater() {
        return "Adam";
    }

    @Override
    public BenchmarkCase ofBatch(int examples) {
        return new LenetCase(name, examples, learningRate, schedule);
    }

    @Override
    public NeuralNetwork network() {
        return (NeuralNetwork) LeNet.builder()
                .seed(20260104)
                .numClasses(CLASSES)
                .updater(new Adam(learningRate))
                .build()
                .init();
    }

    @Override
    public DataSet batch() {
        RandomBatch random = new RandomBatch(minibatch);
        return new DataSet(random.features(SIDE * SIDE), random.oneHot(CLASSES));
    }
}
