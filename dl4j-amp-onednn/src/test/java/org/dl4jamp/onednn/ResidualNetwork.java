package org.dl4jamp.onednn;

import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.dl4jamp.Networks;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.learning.config.Sgd;

/**
 * A ResNet-50 with one block of each width in place of three to six, for small images of 3 channels and 3 classes: 8
 * million parameters.
 */
final class ResidualNetwork {
    private static final int[] WIDTHS = {64, 128, 256, 512};

    private final GraphBuilder graph = Networks.builder(new Sgd(1e-3))
            .graphBuilder()
            .addInputs("in")
            .setInputTypes(InputType.convolutional(32, 32, 3));

    private ResidualNetwork() {}

    static ComputationGraph init() {
        return new ResidualNetwork().build();
    }

    private ComputationGraph build() {
        String last = relu(convolution("stem", 3, 1, WIDTHS[0], "in"));
        for (int width : WIDTHS) {
            last = bottleneck("block" + width, width, width == WIDTHS[0] ? 1 : 2, last);
        }
        graph.addLayer("pool", new GlobalPoolingLayer(PoolingType.AVG), last)
                .addLayer("out", Networks.softmax(3), "pool")
                .setOutputs("out");
        return Networks.init(graph.build());
    }

    private String bottleneck(String name, int width, int stride, String input) {
        String narrow = relu(convolution(name + "_1", 1, stride, width, input));
        String seen = relu(convolution(name + "_2", 3, 1, width, narrow));
        String wide = convolution(name + "_3", 1, 1, 4 * width, seen);
        String shortcut = convolution(name + "_shortcut", 1, stride, 4 * width, input);
        graph.addVertex(name, new ElementWiseVertex(ElementWiseVertex.Op.Add), wide, shortcut);
        return relu(name);
    }

    private String convolution(String name, int kernel, int stride, int out, String input) {
        ConvolutionLayer convolution = Networks.convolution(kernel, out);
        convolution.setStride(new int[] {stride, stride});
        graph.addLayer(name, convolution, input).addLayer(name + "_norm", new BatchNormalization(), name);
        return name + "_norm";
    }

    private String relu(String input) {
        graph.addLayer(input + "_relu", new ActivationLayer(Activation.RELU), input);
        return input + "_relu";
    }
}
