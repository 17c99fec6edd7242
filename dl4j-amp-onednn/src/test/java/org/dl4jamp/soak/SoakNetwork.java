package org.dl4jamp.soak;

import static org.dl4jamp.onednn.Layers.gaussian;

import java.util.List;
import java.util.Random;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.SelfAttentionLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.Networks;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;

/** Kinds of networks with some megabytes of parameters, whose inputs have sizes that vary. */
enum SoakNetwork {
    DENSE {
        @Override
        MultiLayerNetwork network() {
            return of(
                    InputType.feedForward(FEATURES),
                    Networks.dense(1024, Activation.RELU),
                    Networks.dense(512, Activation.TANH),
                    Networks.softmax(CLASSES));
        }

        @Override
        DataSet batch(Random random, int size) {
            return new DataSet(gaussian(random, 1, size, FEATURES), Networks.oneHot(size, CLASSES));
        }
    },
    CONVOLUTIONAL {
        @Override
        MultiLayerNetwork network() {
            return of(
                    InputType.convolutional(16, 16, 3),
                    convolution(64),
                    new BatchNormalization(),
                    new ActivationLayer(Activation.RELU),
                    convolution(128),
                    convolution(128),
                    new GlobalPoolingLayer(PoolingType.AVG),
                    Networks.softmax(CLASSES));
        }

        @Override
        DataSet batch(Random random, int size) {
            return new DataSet(gaussian(random, 1, 2, 3, 8 + size, 8 + size), Networks.oneHot(2, CLASSES));
        }
    },
    SEQUENCES {
        @Override
        MultiLayerNetwork network() {
            return of(
                    InputType.recurrent(FEATURES),
                    new Convolution1DLayer.Builder(3)
                            .nOut(FEATURES)
                            .convolutionMode(ConvolutionMode.Same)
                            .activation(Activation.RELU)
                            .build(),
                    new LSTM.Builder().nOut(128).build(),
                    new SelfAttentionLayer.Builder()
                            .nOut(FEATURES)
                            .nHeads(4)
                            .projectInput(true)
                            .build(),
                    Networks.rnnSoftmax(CLASSES));
        }

        @Override
        DataSet batch(Random random, int size) {
            return new DataSet(gaussian(random, 1, 2, FEATURES, size), gaussian(random, 1, 2, CLASSES, size));
        }
    };

    private static final int FEATURES = 64;
    private static final int CLASSES = 5;

    static SoakNetwork draw(Random random) {
        List<SoakNetwork> kinds = List.of(values());
        return kinds.get(random.nextInt(kinds.size()));
    }

    /** Returns a new network, whose weights are the same at each call. */
    abstract MultiLayerNetwork network();

    /** Returns a random batch of a size from 1 on: of examples, pixels or time steps. */
    abstract DataSet batch(Random random, int size);

    private static ConvolutionLayer convolution(int channels) {
        return new ConvolutionLayer.Builder(3, 3)
                .nOut(channels)
                .convolutionMode(ConvolutionMode.Same)
                .activation(Activation.RELU)
                .build();
    }

    private static MultiLayerNetwork of(InputType type, Layer... layers) {
        NeuralNetConfiguration.ListBuilder list =
                Networks.builder(new Adam(1e-3)).list();
        for (Layer layer : layers) {
            list.layer(layer);
        }
        return Networks.init(list.setInputType(type).build());
    }
}
