package org.dl4jamp.benchmarks.cases;

import java.util.List;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.distribution.NormalDistribution;
import org.deeplearning4j.nn.conf.graph.LayerVertex;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.weights.WeightInit;
import org.deeplearning4j.nn.weights.WeightInitDistribution;
import org.deeplearning4j.zoo.model.ResNet50;
import org.dl4jamp.benchmarks.side.Schedule;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Nesterovs;

/**
 * The ResNet-50 of DL4J's zoo, every layer as it is there, with Nesterov momentum and without the zoo's L1 and L2 terms
 * (1e-7 and 5e-5): PyTorch's updaters have no L1, and the terms would be in DL4J's loss alone.
 *
 * <p>From the zoo's initial weights no two implementations of this network come to the same loss, in FP32 either. Its
 * gradients are so large that the loss jumps at any learning rate from 1e-6 on. So it begins with weights after He,
 * scaled-down residual branches (P. Goyal et al., Accurate, Large Minibatch SGD, 2017, section 5.1), and small weights
 * of its output.
 *
 * @param side pixels along each side of an image
 * @param minibatch images
 * @param classes how many there are
 */
public record Resnet50Case(int side, int minibatch, int classes) implements BenchmarkCase {
    private static final int CHANNELS = 3;
    private static final double OUTPUT_DEVIATION = 0.01;
    private static final double BRANCH_SCALE = 0.2;
    private static final String LAST_OF_BRANCH = "2c";

    @Override
    public String name() {
        return "resnet50";
    }

    @Override
    public String description() {
        return "ResNet-50 of DL4J's zoo, " + side + "×" + side + " images, batch " + minibatch;
    }

    @Override
    public String updater() {
        return "Nesterov momentum";
    }

    @Override
    public BenchmarkCase ofBatch(int examples) {
        return new Resnet50Case(side, examples, classes);
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
        configuration.getVertices().forEach((name, vertex) -> {
            if (vertex instanceof LayerVertex place && place.getLayerConf().getLayer() instanceof BaseLayer layer) {
                tame(name, layer);
            }
        });
        ComputationGraph network = new ComputationGraph(configuration);
        network.init();
        return network;
    }

    private static void tame(String name, BaseLayer layer) {
        layer.setRegularization(List.of());
        if (layer instanceof OutputLayer output) {
            output.setWeightInitFn(new WeightInitDistribution(new NormalDistribution(0, OUTPUT_DEVIATION)));
        } else if (layer instanceof BatchNormalization normalization && name.endsWith(LAST_OF_BRANCH)) {
            normalization.setGamma(BRANCH_SCALE);
        }
    }

    @Override
    public DataSet batch() {
        RandomBatch random = new RandomBatch(minibatch);
        return new DataSet(random.images(CHANNELS, side), random.oneHot(classes));
    }

    @Override
    public Schedule schedule() {
        return Schedule.ofSteps(2, 3);
    }
}
