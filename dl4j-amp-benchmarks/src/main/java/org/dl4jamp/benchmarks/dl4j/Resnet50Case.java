package org.dl4jamp.benchmarks.dl4j;

import java.util.List;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.graph.LayerVertex;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.weights.WeightInit;
import org.deeplearning4j.zoo.model.ResNet50;
import org.dl4jamp.benchmarks.side.Schedule;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Nesterovs;

/**
 * The ResNet-50 of DL4J's zoo, every layer as it is there, with Nesterov momentum, He's initial weights and without the zoo's L1 and L2
 * terms (1e-7 and 5e-5): PyTorch's updaters have no L1, and the terms would be in DL4J's loss alone. The learning rate is small because a
 * batch that never changes lets larger ones grow differences of rounding into different losses within a few steps.
 *
 * @param side pixels along each side of an image
 * @param minibatch images
 * @param classes to tell apart
 */
public record Resnet50Case(int side, int minibatch, int classes) implements BenchmarkCase {
    private static final int CHANNELS = 3;

    @Override
    public String name() {
        return "resnet50";
    }

    @Override
    public String description() {
        return "ResNet-50 of DL4J's zoo, " + side + "×" + side + " images, batch " + minibatch + ", Nesterov momentum";
    }

    @Override
    public NeuralNetwork network() {
        ComputationGraphConfiguration configuration = ResNet50.builder()
                .seed(20260105)
                .inputShape(new int[] {CHANNELS, side, side})
                .numClasses(classes)
                .weightInit(WeightInit.RELU.getWeightInitFunction())
                .updater(new Nesterovs(1e-4, 0.9))
                .build()
                .graphBuilder()
                .build();
        configuration.getVertices().values().forEach(vertex -> {
            if (vertex instanceof LayerVertex place && place.getLayerConf().getLayer() instanceof BaseLayer layer) {
                layer.setRegularization(List.of());
            }
        });
        ComputationGraph network = new ComputationGraph(configuration);
        network.init();
        return network;
    }

    @Override
    public DataSet batch() {
        RandomBatch random = new RandomBatch(minibatch);
        return new DataSet(random.features(CHANNELS, side, side), random.oneHot(classes));
    }

    @Override
    public Schedule schedule() {
        return new Schedule(2, 4, 3, 4);
    }
}
