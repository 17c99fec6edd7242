package org.dl4jamp.benchmarks.cases;

import java.util.List;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.graph.LayerVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.zoo.model.UNet;
import org.dl4jamp.benchmarks.side.Schedule;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;

/**
 * The UNet of DL4J's zoo, that learns which pixels are bright. Its encoder is pairs of convolutions and maximum
 * pooling. Its decoder is upsampling, a convolution, the merge with the encoder's images, and a pair of convolutions.
 * Each layer is as it is in the zoo, but for the number of its channels.
 *
 * <p>Adam replaces the zoo's AdaDelta, which PyTorch's C++ interface doesn't have. The zoo's dropout (0.5) is left out,
 * since each framework has its own random numbers. So is its L2 term (5e-5), which would be in DL4J's loss alone.
 *
 * @param side pixels along each side of an image, a multiple of 16; the zoo's images have 512
 * @param minibatch images
 * @param width channels of the first and the last pair of convolutions; in the zoo 64
 */
public record UnetCase(int side, int minibatch, int width) implements BenchmarkCase {
    private static final int CHANNELS = 3;
    private static final int WIDTH_OF_THE_ZOO = 64;

    @Override
    public String name() {
        return "unet";
    }

    @Override
    public String description() {
        return "UNet of DL4J's zoo from " + width + " channels on, " + side + "×" + side + " images, batch "
                + minibatch;
    }

    @Override
    public String updater() {
        return "Adam";
    }

    @Override
    public BenchmarkCase ofBatch(int examples) {
        return new UnetCase(side, examples, width);
    }

    @Override
    public NeuralNetwork network() {
        InputType images = InputType.convolutional(side, side, CHANNELS);
        ComputationGraphConfiguration configuration = UNet.builder()
                .seed(20260108)
                .updater(new Adam(1e-4))
                .build()
                .graphBuilder()
                .addInputs("input")
                .setInputTypes(images)
                .build();
        configuration.getVertices().values().forEach(vertex -> {
            if (vertex instanceof LayerVertex place) {
                change(place.getLayerConf().getLayer());
            }
        });
        configuration.addPreProcessors(true, images);
        ComputationGraph network = new ComputationGraph(configuration);
        network.init();
        return network;
    }

    private void change(Layer layer) {
        layer.setIDropout(null);
        if (layer instanceof BaseLayer withWeights) {
            withWeights.setRegularization(List.of());
        }
        if (layer instanceof ConvolutionLayer convolution && convolution.getNOut() >= WIDTH_OF_THE_ZOO) {
            convolution.setNOut(convolution.getNOut() * width / WIDTH_OF_THE_ZOO);
        }
    }

    @Override
    public DataSet batch() {
        INDArray images = new RandomBatch(minibatch).images(CHANNELS, side);
        INDArray bright = images.sum(true, 1).gt(0).castTo(images.dataType());
        return new DataSet(images, bright);
    }

    @Override
    public Schedule schedule() {
        return Schedule.ofSteps(2, 3);
    }
}
