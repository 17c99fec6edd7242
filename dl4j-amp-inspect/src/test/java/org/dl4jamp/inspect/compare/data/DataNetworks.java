package org.dl4jamp.inspect.compare.data;

import java.util.List;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Networks of each kind of input and output. */
final class DataNetworks {
    private DataNetworks() {}

    static MultiLayerNetwork of(InputType input, Layer... layers) {
        NeuralNetConfiguration.ListBuilder list =
                new NeuralNetConfiguration.Builder().seed(3).list();
        List.of(layers).forEach(list::layer);
        if (input != null) {
            list.setInputType(input);
        }
        MultiLayerNetwork network = new MultiLayerNetwork(list.build());
        network.init();
        return network;
    }

    static Layer dense() {
        return new DenseLayer.Builder().nOut(5).activation(Activation.TANH).build();
    }

    static Layer output(LossFunction loss, Activation activation, int out) {
        return new OutputLayer.Builder(loss).nOut(out).activation(activation).build();
    }

    /** 2 features, 3 classes. */
    static MultiLayerNetwork classifier() {
        return of(InputType.feedForward(2), dense(), output(LossFunction.MCXENT, Activation.SOFTMAX, 3));
    }

    /** 2 values in each time step, 3 classes for each. */
    static MultiLayerNetwork sequences() {
        return of(
                InputType.recurrent(2),
                new LSTM.Builder().nOut(4).build(),
                new RnnOutputLayer.Builder(LossFunction.MCXENT)
                        .nOut(3)
                        .activation(Activation.SOFTMAX)
                        .build());
    }

    /** One channel of 3 by 2 pixels as rows, one number. */
    static MultiLayerNetwork flatImages() {
        return of(
                InputType.convolutionalFlat(3, 2, 1),
                new ConvolutionLayer.Builder(2, 2).nOut(2).build(),
                output(LossFunction.MSE, Activation.IDENTITY, 1));
    }

    /** Symbols from 0 to 6, two bits. */
    static MultiLayerNetwork symbols() {
        return of(
                null,
                new EmbeddingLayer.Builder().nIn(7).nOut(4).build(),
                new OutputLayer.Builder(LossFunction.XENT)
                        .nIn(4)
                        .nOut(2)
                        .activation(Activation.SIGMOID)
                        .build());
    }

    /** Two inputs of 2 and 3 features, two outputs. */
    static ComputationGraph graph() {
        ComputationGraph graph = new ComputationGraph(new NeuralNetConfiguration.Builder()
                .graphBuilder()
                .addInputs("a", "b")
                .setInputTypes(InputType.feedForward(2), InputType.feedForward(3))
                .addLayer("left", dense(), "a")
                .addLayer("right", dense(), "b")
                .addLayer("classes", output(LossFunction.MCXENT, Activation.SOFTMAX, 4), "left", "right")
                .addLayer("number", output(LossFunction.MSE, Activation.IDENTITY, 1), "right")
                .setOutputs("classes", "number")
                .build());
        graph.init();
        return graph;
    }
}
