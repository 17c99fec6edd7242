package org.dl4jamp.listeners;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.learning.config.IUpdater;

/** A network of 4 features and 2 classes. */
final class SmallNetwork {
    private SmallNetwork() {}

    /** Returns the network with these hidden layers. */
    static MultiLayerNetwork of(IUpdater updater, DenseLayer... hidden) {
        NeuralNetConfiguration.ListBuilder list =
                new NeuralNetConfiguration.Builder().seed(1).updater(updater).list();
        for (DenseLayer layer : hidden) {
            list.layer(layer);
        }
        list.layer(
                new OutputLayer.Builder().nOut(2).activation(Activation.SOFTMAX).build());
        MultiLayerNetwork network = new MultiLayerNetwork(
                list.setInputType(InputType.feedForward(4)).build());
        network.init();
        return network;
    }

    /** Returns a hidden layer. */
    static DenseLayer hidden(String name, int units) {
        return new DenseLayer.Builder()
                .name(name)
                .nOut(units)
                .activation(Activation.TANH)
                .build();
    }
}
